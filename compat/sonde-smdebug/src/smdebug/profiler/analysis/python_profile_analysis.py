"""Time by Python function, from the Python profiles of a job."""

from typing import ClassVar

import pandas as pd

from smdebug.core.modes import ModeKeys
from smdebug.profiler.analysis.utils.python_profile_analysis_utils import Metrics, StepPhase
from smdebug.profiler.analysis.utils.table_output import show
from smdebug.profiler.utils import open_job
from sonde.results.python_profile import PythonTime

_ORDER = {
    Metrics.TOTAL_TIME: "self",
    Metrics.CUMULATIVE_TIME: "total",
    Metrics.PRIMITIVE_CALLS: "calls",
    Metrics.TOTAL_CALLS: "calls",
}
_MODES = {ModeKeys.TRAIN: "train", ModeKeys.EVAL: "eval", ModeKeys.PREDICT: "predict"}


class PythonProfileStats:
    """The functions of a profile."""

    def __init__(self, profile: PythonTime) -> None:
        self.profile = profile

    def print_top_n_functions(self, by: Metrics = Metrics.TOTAL_TIME, n: int = 10) -> None:
        """Print the functions with the most time, or the most calls."""
        show(self.profile.top(n, by=_ORDER[by]))

    def get_function_stats(self) -> "pd.DataFrame":
        """One row per function."""
        return self.profile.to_pandas()


class PythonProfileAnalysis:
    """Reads the Python profiles of a job."""

    profiler: ClassVar[str | None] = None

    def __init__(self, local_profile_dir: str, s3_path: str | None = None) -> None:
        self.job = open_job(s3_path or local_profile_dir)

    def fetch_profile_stats_by_step(
        self,
        start_step: int,
        end_step: int | None = None,
        mode: ModeKeys = ModeKeys.TRAIN,
        start_phase: StepPhase = StepPhase.STEP_START,
        end_phase: StepPhase = StepPhase.STEP_END,
        node_id: str = "any",
        refresh_stats: bool = True,
    ) -> PythonProfileStats:
        """The profile of a range of steps of a mode.

        Args:
            start_step: The first step.
            end_step: The step to stop before; by default, only one step.
            mode: The mode that counts the steps.
            start_phase: With FORWARD_PASS_END, only the rest of the steps.
            end_phase: With FORWARD_PASS_END, only the forward passes.
            node_id: Has no effect: all workers are included.
            refresh_stats: Read what was added.
        """
        del node_id
        if refresh_stats:
            self.job.refresh()
        is_forward = end_phase == StepPhase.FORWARD_PASS_END
        is_rest = start_phase == StepPhase.FORWARD_PASS_END
        return PythonProfileStats(
            self.job.python(
                self.profiler,
                mode=_MODES.get(mode),
                phase="forward" if is_forward else "backward" if is_rest else None,
                steps=(start_step, start_step + 1 if end_step is None else end_step),
            )
        )

    def fetch_profile_stats_by_time(
        self, start_time_since_epoch_in_secs: float, end_time_since_epoch_in_secs: float
    ) -> PythonProfileStats:
        """The profile between two times."""
        begin = (self.job.facts.start_ns or 0) / 1e9
        profile = self.job.python(self.profiler)
        return PythonProfileStats(
            profile.between(
                start_time_since_epoch_in_secs - begin, end_time_since_epoch_in_secs - begin
            )
        )

    def fetch_profile_stats_by_training_phase(self) -> dict[str, PythonProfileStats]:
        """The profile of each mode."""
        return {
            mode: PythonProfileStats(self.job.python(self.profiler, mode=mode))
            for mode in _MODES.values()
        }

    def list_profile_stats(self) -> "pd.DataFrame":
        """The profiled windows."""
        return pd.DataFrame(
            [str(window) for window in self.job.python(self.profiler).windows], columns=["window"]
        )

    def list_available_node_ids(self) -> list[str]:
        """The nodes of the job."""
        return list(self.job.nodes)


class cProfileAnalysis(PythonProfileAnalysis):
    """Profiles of cProfile."""

    profiler = "cprofile"


class PyinstrumentAnalysis(PythonProfileAnalysis):
    """Profiles by sampling of stacks."""

    profiler = "stacks"
