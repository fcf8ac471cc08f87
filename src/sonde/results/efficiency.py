"""How well a job uses its GPUs: achieved FLOP/s, samples and tokens per second, and what it costs.

The work of a step is counted once, from the shapes of profiled operators, so training does not
count anything. The time of a step is the median of the steps without profilers.
"""

from dataclasses import asdict, dataclass

import numpy as np

from sonde.analyze.device_work import device_work
from sonde.analyze.kernels import Precision
from sonde.analyze.peak_rates import peak_rate
from sonde.clock import NANOSECONDS
from sonde.formats import format_percent, format_value
from sonde.records.cost import JobCost
from sonde.results.job import JobResults
from sonde.results.machines import GPU, means_of, readers_of, series_of
from sonde.results.run_record import samples_per_step
from sonde.results.throughput import slowest_worker, trained_steps

_POWER = "gpu.power_watts"
TERA = 1e12


@dataclass(frozen=True, slots=True)
class Efficiency:
    """The work of a training step per second."""

    flops_per_step: float | None = None  # of one worker
    flops_per_second: float | None = None  # of one worker
    peak_flops_per_second: float | None = None  # of its GPU, in the precision of most products
    precision: str = ""
    device_name: str = ""
    samples_per_second: float | None = None  # of all workers
    tokens_per_second: float | None = None

    @property
    def flops_percent(self) -> float | None:
        """The share of the GPU's peak, known as model FLOPs utilization (MFU)."""
        if self.flops_per_second is None or not self.peak_flops_per_second:
            return None
        return 100 * self.flops_per_second / self.peak_flops_per_second

    def document(self) -> dict[str, float | str | None]:
        """As JSON values."""
        return {**asdict(self), "flops_percent": self.flops_percent}

    @property
    def text(self) -> str:
        """Achieved FLOP/s and the share of the peak; empty if unknown."""
        if self.flops_per_second is None:
            return ""
        rate = format_value(self.flops_per_second / TERA, "TFLOP/s")
        if self.flops_percent is None or not self.peak_flops_per_second:
            return rate
        peak = format_value(self.peak_flops_per_second / TERA, "TFLOP/s")
        share = format_percent(self.flops_percent)
        return f"{rate}, {share} of {peak} ({self.device_name}, {self.precision})"

    @property
    def rates_text(self) -> str:
        """Samples and tokens per second; empty if unknown."""
        rates = ((self.samples_per_second, "samples/s"), (self.tokens_per_second, "tokens/s"))
        return ", ".join(format_value(rate, unit) for rate, unit in rates if rate)


def read_efficiency(job: JobResults) -> Efficiency:
    """The efficiency of a typical step of the slowest worker."""
    tables = trained_steps(job)
    if not tables:
        return Efficiency()
    table = slowest_worker(tables)
    seconds = float(np.median(table.durations_ns[table.is_representative])) / NANOSECONDS
    work = job.step_work(table.worker)
    count = len(tables)
    samples = samples_per_step(job) or (work.samples * count if work else 0.0)
    rates = (samples / seconds or None, work.tokens * count / seconds or None if work else None)
    if work is None:
        return Efficiency(samples_per_second=rates[0])
    names = [life.info.device_name for life in job.lives if life.info.rank == table.worker]
    name = names[-1] if names else ""
    precision = _main_precision(job, table.worker) if name else None
    return Efficiency(
        flops_per_step=work.flops,
        flops_per_second=work.flops / seconds,
        peak_flops_per_second=peak_rate(name, precision) if precision else None,
        precision=str(precision or ""),
        device_name=name,
        samples_per_second=rates[0],
        tokens_per_second=rates[1],
    )


def _main_precision(job: JobResults, worker: int) -> Precision | None:
    """The precision in which matrix products take most of the device's time."""
    for profile in reversed(job.operators(worker=worker).profiles):
        work = device_work(profile)
        if work is not None and any(work.by_precision.values()):
            return Precision(max(work.by_precision, key=work.by_precision.__getitem__))
    return None


def read_cost(job: JobResults) -> JobCost | None:
    """What the job has cost so far; None without GPUs."""
    seconds = job.summary["duration_seconds"]
    readers = readers_of(job)
    gpus = sum(len(series_of(reader, GPU)) for reader in readers)
    if not seconds or not gpus:
        return None
    watts = [mean for reader in readers for mean in means_of(reader, series_of(reader, _POWER))]
    hours = seconds / 3600
    prices = [run["price_per_gpu_hour"] for run in job.summary["runs"]]
    price = next((price for price in reversed(prices) if price is not None), None)
    return JobCost(
        gpu_hours=gpus * hours,
        watt_hours=sum(watts) * hours if watts else None,
        price=None if price is None else gpus * hours * price,
    )
