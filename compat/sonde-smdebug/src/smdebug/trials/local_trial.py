"""A trial in a local folder."""

from smdebug.trials.trial import Range, Trial


class LocalTrial(Trial):
    """A trial in a local folder."""

    def __init__(
        self,
        name: str | None,
        dirname: str,
        range_steps: Range | None = None,
        **_ignored: object,
    ) -> None:
        super().__init__(dirname, name, range_steps)
