"""Open a trial by its path."""

import os

from smdebug.trials.local_trial import LocalTrial
from smdebug.trials.s3_trial import S3Trial
from smdebug.trials.trial import Range, Trial


def create_trial(
    path: str,
    name: str | None = None,
    profiler: bool = False,
    output_dir: str = "/opt/ml/processing/outputs/",
    range_steps: Range | None = None,
    **_ignored: object,
) -> Trial:
    """Open what a hook has recorded, while it is recorded or afterward.

    Args:
        path: The `out_dir` of the hook, a folder of a Sonde job, or the URI of either.
        name: The trial's name; by default, the last part of the path.
        profiler: Has no effect: system metrics are part of the same job.
        output_dir: Has no effect.
        range_steps: The first global step, and the one to stop before; None for no limit.
        **_ignored: Options of the old reader, such as `check` and `index_mode`.
    """
    del profiler, output_dir
    path = os.fspath(path)
    if path.startswith("s3://"):
        bucket, _, prefix = path.removeprefix("s3://").partition("/")
        return S3Trial(name, bucket, prefix, range_steps)
    return LocalTrial(name, path, range_steps)
