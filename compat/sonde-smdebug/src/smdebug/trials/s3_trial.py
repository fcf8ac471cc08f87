"""A trial in an object store."""

from smdebug.trials.trial import Range, Trial


class S3Trial(Trial):
    """A trial in an object store."""

    def __init__(
        self,
        name: str | None,
        bucket_name: str,
        prefix_name: str,
        range_steps: Range | None = None,
        **_ignored: object,
    ) -> None:
        super().__init__(f"s3://{bucket_name}/{prefix_name}", name, range_steps)
