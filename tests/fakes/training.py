"""Jobs with training data as the hook would record it."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonde.records.arrays import FloatArray
from tests.fakes.job import FakeJob, series_of
from tests.fakes.worker import FakeWorker


def noisy(
    level: Callable[[FloatArray], FloatArray], steps: int, noise: float, seed: int = 0
) -> FloatArray:
    """Return a curve over steps with noise relative to its level."""
    at = np.arange(steps, dtype=np.float64)
    values = level(at)
    return values * (1 + noise * np.random.default_rng(seed).standard_normal(steps))


def with_losses(
    losses: Sequence[float] | FloatArray,
    first_step: int = 0,
    scalars: Mapping[str, Sequence[float | None]] | None = None,
    optimizers: Mapping[int, str] | None = None,
    kinds: Mapping[int, str] | None = None,
    sizes: Mapping[int, str] | None = None,
    *,
    uri: str = "",
) -> FakeJob:
    """Return a job of one worker with a loss and other scalars at every step.

    Args:
        losses: The loss of each step.
        first_step: Number of the first step.
        scalars: Other values per step, by name; None where the hook records none, as for a learning
            rate that does not change.
        optimizers: The optimizer in use, by its first step.
        kinds: The operation that computes the loss, by its first step.
        sizes: The input size, by its first step.
        uri: The job's folder.
    """
    job = FakeJob(uri)
    worker = job.worker()
    for index, value in enumerate(losses):
        worker.scalar("loss", first_step + index, float(value))
        for name, values in (scalars or {}).items():
            if (scalar := values[index]) is not None:
                worker.scalar(name, first_step + index, float(scalar))
        facts = {"new-optimizer": optimizers, "loss-kind": kinds, "input-size": sizes}
        for kind, by_step in facts.items():
            if index in (by_step or {}):
                worker.observation(kind, (by_step or {})[index], index, {})
        worker.step(first_step + index, {"forward": 0.1})
    worker.flush()
    return job.end()


def with_gradients(
    means: Mapping[str, Callable[[int], float]], steps: int, every: int = 1, zeros: float = 0.0
) -> FakeJob:
    """Return a job of one worker whose gradients have these mean absolute values."""
    job = FakeJob()
    worker = job.worker()
    for name in means:
        worker.add_tensor(f"gradient/{name}", "gradients")
    for step in range(steps):
        if step % every == 0:
            for name, mean in means.items():
                worker.statistics(f"gradient/{name}", step, _spread(mean(step), zeros))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def inspected_steps(steps: int, max_gap: int = 80) -> list[int]:
    """Return the steps that a hook inspects: often at first, then as its budget allows."""
    inspected, step = [], 0
    while step < steps:
        inspected.append(step)
        step += min(max_gap, max(1, -(-step // 2)))
    return inspected


def with_tensors(
    tensors: Mapping[str, tuple[str, Callable[[int], Sequence[float] | FloatArray]]],
    steps: int,
    at: Sequence[int] | None = None,
    scalars: Mapping[str, Callable[[int], float]] | None = None,
) -> FakeJob:
    """Return a job of one worker with tensors of collections at the inspected steps."""
    job = FakeJob()
    worker = job.worker()
    for name, (collection, _) in tensors.items():
        worker.add_tensor(name, collection)
    inspected = set(inspected_steps(steps) if at is None else at)
    for step in range(steps):
        for name, (_, values) in tensors.items() if step in inspected else ():
            worker.statistics(name, step, values(step))
        for name, value in (scalars or {}).items():
            worker.scalar(name, step, value(step))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def with_observations(
    kind: str,
    subjects: Mapping[str, Callable[[int], tuple[float, object]]],
    steps: int,
    at: Sequence[int] | None = None,
    mode: str = "train",
) -> FakeJob:
    """Return a job of one worker with an observation per subject: a value and its detail."""
    job = FakeJob()
    worker = job.worker()
    inspected = set(inspected_steps(steps) if at is None else at)
    for step in range(steps):
        for subject, observe in subjects.items() if step in inspected else ():
            value, detail = observe(step)
            worker.observation(kind, subject, step, detail, value=value, mode=mode)
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def with_evaluations(
    trained: Callable[[int], float],
    evaluated: Callable[[int], float],
    evaluations: int,
    every: int = 20,
    batches: int = 3,
) -> FakeJob:
    """Return a job that alternates training and evaluation; losses by training step."""
    job = FakeJob()
    worker = job.worker()
    for step in range(every * evaluations):
        worker.scalar("loss", step, trained(step)).step(step, {"forward": 0.1})
        if step % every == every - 1:
            for batch in range(batches):
                number = step // every * batches + batch
                worker.scalar("loss", number, evaluated(step), mode="eval")
                worker.step(number, {"forward": 0.05}, mode="eval")
    worker.flush()
    return job.end()


def with_steps(
    seconds: Sequence[float] | FloatArray,
    slow_phase: str = "data_wait",
    ranks: Sequence[int] = (0,),
) -> FakeJob:
    """Return a job with these step durations; time above the median is in one phase."""
    job = FakeJob()
    median_seconds = float(np.median(np.asarray(seconds)))
    for rank in ranks:
        worker = job.worker(rank)
        for step, lasted in enumerate(seconds):
            _timed_step(worker, step, float(lasted), median_seconds, slow_phase)
        worker.flush()
    return job.end()


def with_gpus(
    curves: Mapping[str, Sequence[float] | FloatArray],
    trained: tuple[int, int] | None,
    every_seconds: float = 0.5,
) -> FakeJob:
    """Return a job with this GPU utilization, which trains a step per sample in a range."""
    samples = {f"gpu.utilization_percent/{name}": values for name, values in curves.items()}
    return with_machine(samples, trained, every_seconds)


def with_machine(
    curves: Mapping[str, Sequence[float] | FloatArray],
    trained: tuple[int, int] | None,
    every_seconds: float = 0.5,
    device: str = "cuda:0",
) -> FakeJob:
    """Return a job with these samples, which trains a step per sample in a range."""
    job = FakeJob()
    worker = job.worker(device=device)
    series = tuple(map(series_of, curves))
    for index, values in enumerate(zip(*curves.values(), strict=True)):
        job.writer.add_sample(job.clock.now_ns(), series, [float(value) for value in values])
        if trained is not None and trained[0] <= index < trained[1]:
            worker.step(index - trained[0], {"forward": every_seconds})
        else:
            job.clock.advance(every_seconds)
    worker.flush()
    return job.end()


def _timed_step(
    worker: FakeWorker, step: int, lasted: float, median_seconds: float, phase: str
) -> None:
    slow = max(0.0, lasted - 0.9 * median_seconds)
    worker.step(step, {phase: slow, "forward": lasted - slow})


def _spread(mean: float, zeros: float) -> FloatArray:
    """Return sixteen values with this mean magnitude, some of them zero."""
    values = mean * np.tile((-1.5, 0.5, 1.5, -0.5), 4)
    values[: round(zeros * len(values))] = 0.0
    return np.asarray(values)
