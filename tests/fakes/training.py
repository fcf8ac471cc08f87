"""Trainings without training: what a hook would have recorded of them, told in a line."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonde.records.arrays import FloatArray
from tests.fakes.job import FakeJob, series_of
from tests.fakes.worker import FakeWorker


def noisy(
    level: Callable[[FloatArray], FloatArray], steps: int, noise: float, seed: int = 0
) -> FloatArray:
    """A curve over steps with noise that is a share of its level."""
    at = np.arange(steps, dtype=np.float64)
    values = level(at)
    return values * (1 + noise * np.random.default_rng(seed).standard_normal(steps))


def with_losses(
    losses: Sequence[float] | FloatArray,
    first_step: int = 0,
    scalars: Mapping[str, Sequence[float]] | None = None,
    optimizers: Mapping[int, str] | None = None,
    kinds: Mapping[int, str] | None = None,
    sizes: Mapping[int, str] | None = None,
) -> FakeJob:
    """A job of one worker with a loss, and other scalars, at every step.

    Args:
        losses: One for each step.
        first_step: Its number.
        scalars: By name, as many.
        optimizers: Which one steps from which step on.
        kinds: Which operation a loss comes from, by the first step with it.
        sizes: Of samples, by the step at which another size was noted.
    """
    job = FakeJob()
    worker = job.worker()
    for place, value in enumerate(losses):
        worker.scalar("loss", first_step + place, float(value))
        for name, values in (scalars or {}).items():
            worker.scalar(name, first_step + place, float(values[place]))
        facts = {"new-optimizer": optimizers, "loss-kind": kinds, "input-size": sizes}
        for kind, by_step in facts.items():
            if place in (by_step or {}):
                worker.observation(kind, (by_step or {})[place], place, {})
        worker.step(first_step + place, {"forward": 0.1})
    worker.flush()
    return job.end()


def with_gradients(
    means: Mapping[str, Callable[[int], float]], steps: int, every: int = 1, zeros: float = 0.0
) -> FakeJob:
    """A job of one worker whose gradients have these mean absolute values."""
    job = FakeJob()
    worker = job.worker()
    for name in means:
        worker.knows(f"gradient/{name}", "gradients")
    for step in range(steps):
        if step % every == 0:
            for name, mean in means.items():
                worker.statistics(f"gradient/{name}", step, _spread(mean(step), zeros))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def looks(steps: int, most_apart: int = 80) -> list[int]:
    """The steps at which a hook looks: often at first, then as its budget allows."""
    found, step = [], 0
    while step < steps:
        found.append(step)
        step += min(most_apart, max(1, -(-step // 2)))
    return found


def with_tensors(
    tensors: Mapping[str, tuple[str, Callable[[int], Sequence[float] | FloatArray]]],
    steps: int,
    at: Sequence[int] | None = None,
    scalars: Mapping[str, Callable[[int], float]] | None = None,
) -> FakeJob:
    """A job of one worker with tensors, each of a collection, at the steps that are looked at."""
    job = FakeJob()
    worker = job.worker()
    for name, (collection, _) in tensors.items():
        worker.knows(name, collection)
    looked = set(looks(steps) if at is None else at)
    for step in range(steps):
        for name, (_, values) in tensors.items() if step in looked else ():
            worker.statistics(name, step, values(step))
        for name, value in (scalars or {}).items():
            worker.scalar(name, step, value(step))
        worker.step(step, {"forward": 0.1})
    worker.flush()
    return job.end()


def with_observations(
    kind: str,
    seen: Mapping[str, Callable[[int], tuple[float, object]]],
    steps: int,
    at: Sequence[int] | None = None,
    mode: str = "train",
) -> FakeJob:
    """A job of one worker that finds something of each subject: a value and its detail."""
    job = FakeJob()
    worker = job.worker()
    looked = set(looks(steps) if at is None else at)
    for step in range(steps):
        for subject, told in seen.items() if step in looked else ():
            value, detail = told(step)
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
    """A job that trains some steps, evaluates some batches, and so on; losses by training step."""
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
    """A job whose steps take so long: what is above the usual lies in one phase."""
    job = FakeJob()
    usual = float(np.median(np.asarray(seconds)))
    for rank in ranks:
        worker = job.worker(rank)
        for step, lasted in enumerate(seconds):
            _timed_step(worker, step, float(lasted), usual, slow_phase)
        worker.flush()
    return job.end()


def with_gpus(
    curves: Mapping[str, Sequence[float] | FloatArray],
    trained: tuple[int, int] | None,
    every_seconds: float = 0.5,
) -> FakeJob:
    """A job whose GPUs are so busy; it trains from one sample to another, a step per sample."""
    samples = {f"gpu.utilization_percent/{name}": values for name, values in curves.items()}
    return with_machine(samples, trained, every_seconds)


def with_machine(
    curves: Mapping[str, Sequence[float] | FloatArray],
    trained: tuple[int, int] | None,
    every_seconds: float = 0.5,
    device: str = "cuda:0",
) -> FakeJob:
    """A job on a machine with these samples; it trains from one to another, a step per sample."""
    job = FakeJob()
    worker = job.worker(device=device)
    series = tuple(map(series_of, curves))
    for place, values in enumerate(zip(*curves.values(), strict=True)):
        job.writer.add_sample(job.clock.now_ns(), series, [float(one) for one in values])
        if trained is not None and trained[0] <= place < trained[1]:
            worker.step(place - trained[0], {"forward": every_seconds})
        else:
            job.clock.advance(every_seconds)
    worker.flush()
    return job.end()


def _timed_step(worker: FakeWorker, step: int, lasted: float, usual: float, phase: str) -> None:
    slow = max(0.0, lasted - 0.9 * usual)
    worker.step(step, {phase: slow, "forward": lasted - slow})


def _spread(mean: float, zeros: float) -> FloatArray:
    """Sixteen values with that mean magnitude, some of them nought."""
    values = mean * np.tile((-1.5, 0.5, 1.5, -0.5), 4)
    values[: round(zeros * len(values))] = 0.0
    return np.asarray(values)
