"""A job by its name or path."""

from smdebug.profiler.algorithm_metrics_reader import AlgorithmMetricsReader
from smdebug.profiler.system_metrics_reader import SystemMetricsReader
from smdebug.profiler.utils import open_job


class TrainingJob:
    """A job of the store, by its name, or by the path or URI of its folder."""

    def __init__(self, training_job_name: str, region: str | None = None) -> None:
        del region
        self.name = training_job_name
        self.job = open_job(training_job_name)

    @property
    def profiler_s3_output_path(self) -> str:
        """The location of the job."""
        return self.job.uri

    def describe_training_job(self) -> dict[str, object]:
        """The status of the job."""
        return dict(self.job.summary)

    def get_config_and_profiler_s3_output_path(self) -> tuple[dict[str, object], str]:
        """The status of the job, and its location."""
        return self.describe_training_job(), self.job.uri

    def wait_for_sys_profiling_data_to_be_available(self) -> None:
        """Wait until the machine was sampled."""
        self.job.wait_for(lambda job: len(job.system("cpu.*").to_arrow()) > 0)

    def wait_for_framework_profiling_data_to_be_available(self) -> None:
        """Wait for the first step."""
        self.job.wait_for(step=1)

    def get_systems_metrics_reader(self) -> SystemMetricsReader:
        """The reader of machine metrics."""
        return SystemMetricsReader(self.job.uri)

    def get_framework_metrics_reader(self) -> AlgorithmMetricsReader:
        """The reader of events."""
        return AlgorithmMetricsReader(self.job.uri)
