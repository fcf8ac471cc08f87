"""Recorded jobs whose values are known exactly, to compare with what pages show."""

from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass, field, replace
from io import StringIO
from itertools import pairwise

import numpy as np

from sonde.cli._main import run_command_line
from sonde.clock import NANOSECONDS
from sonde.records.job import Exit, ExitReason, JobState
from sonde.records.metric import MetricInfo, Series
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from tests.fakes.job import FakeJob, series_of
from tests.fakes.python_profile import FakeProfile
from tests.fakes.stores import ATTACK, fleet, hostile, large_node
from tests.fakes.worker import FakeWorker

REFERENCE, FAILED, RESUMED, LARGE, FLEET = "reference", "died", "resumed", "large-node", "fleet-64"
HOSTILE, HOSTILE_INSIDE = "hostile", "hostile-inside"
JOBS = (REFERENCE, FAILED, RESUMED, LARGE, FLEET, HOSTILE, HOSTILE_INSIDE, ATTACK)
NODE = "node-a"
STEPS = 240
PHASES = {"data_wait": 0.05, "forward": 0.15, "backward": 0.2, "optimizer": 0.05}
SLOW_PHASES = {**PHASES, "data_wait": 0.55}
SLOW_STEPS = range(100, 120)
SPIKED, BROKEN = 150, 220
REST_SECONDS = 0.05
PROFILED = 50
LAYERS = ("embed.weight", "body.weight", "dead.weight")
SAVED_STEP = 200
SAVED = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
KEYS = (
    *(f"cpu.utilization_percent/cpu{number}" for number in range(4)),
    *("cpu.utilization_percent", "cpu.iowait_percent", "memory.used_percent"),
    *("gpu.utilization_percent/gpu0", "gpu.utilization_percent/gpu1"),
    *("gpu.memory_used_percent/gpu0", "gpu.memory_used_percent/gpu1"),
    *("network.receive_bytes_per_second/eth0", "network.transmit_bytes_per_second/eth0"),
)


@dataclass
class Expected:
    """The recorded values: samples by key, and spans of phases in seconds since the start."""

    times: list[float] = field(default_factory=list)
    samples: dict[str, list[float]] = field(default_factory=dict)
    spans: list[tuple[str, float, float]] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)

    def phase_seconds(self, start: float, end: float) -> dict[str, tuple[int, float]]:
        """The number of spans and the total seconds of each phase in a range."""
        totals: dict[str, tuple[int, float]] = {}
        for name, begin, over in self.spans:
            inside = min(over, end) - max(begin, start)
            if inside > 0:
                count, seconds = totals.get(name, (0, 0.0))
                totals[name] = (count + 1, seconds + inside)
        return totals

    def mean(self, key: str, start: float = 0.0, end: float = np.inf) -> float:
        """The mean of the samples in a range."""
        values = zip(self.times, self.samples[key], strict=True)
        return float(np.mean([value for at, value in values if start <= at < end]))

    def values(self, key: str) -> list[float]:
        """Every sample of a series."""
        return self.samples[key]


def fill(store: str) -> Expected:
    """Write all recorded jobs; return the expected values of the reference job."""
    expected = _reference_job(f"{store}/{REFERENCE}")
    _failed(f"{store}/{FAILED}")
    _resumed(f"{store}/{RESUMED}")
    _hostile(store)
    large_node(store, LARGE)
    fleet(store, 64, FLEET)
    with redirect_stdout(StringIO()):
        run_command_line(["check", REFERENCE, "--store", store, "--record"])
    return expected


def _levels(step: int) -> Iterator[float]:
    is_slow = step in SLOW_STEPS
    cores = [10.0 * core + (step % 10) for core in range(4)]
    yield from cores
    yield sum(cores) / len(cores)
    yield 35.0 if is_slow else 1.0
    yield 40.0
    yield from (5.0 if is_slow else 90.0 + step % 5, 0.0)
    yield from (50.0, 2.0)
    yield from (1e6 * (1 + step % 3), 2e6)


def _series(key: str) -> Series:
    if "bytes_per_second" not in key:
        return series_of(key)
    metric, _, device = key.partition("/")
    return Series(MetricInfo(metric, "bytes/s", "traffic of an interface"), device)


def _reference_job(uri: str) -> Expected:
    expected = Expected(samples={key: [] for key in KEYS})
    job = FakeJob(uri)
    begin_ns = job.clock.now_ns()
    worker = job.worker(device="cuda:0", versions={"torch": "2.9.0"})
    series = tuple(map(_series, KEYS))
    for step in range(STEPS):
        now = (job.clock.now_ns() - begin_ns) / NANOSECONDS
        values = list(_levels(step))
        job.writer.add_sample(job.clock.now_ns(), series, values)
        expected.times.append(now)
        for key, value in zip(KEYS, values, strict=True):
            expected.samples[key].append(value)
        _step(worker, expected, step, now)
    for number in range(4):
        worker.scalar("loss", STEPS, 1.5 - 0.25 * number, mode="eval")
        worker.step(number, {"forward": 0.1}, mode="eval")
    worker.beat(0.1, 120.0, is_over=True).flush()
    job.end()
    return expected


def _step(worker: FakeWorker, expected: Expected, step: int, now: float) -> None:
    phases = SLOW_PHASES if step in SLOW_STEPS else PHASES
    edges = np.cumsum([now, *phases.values()]).tolist()
    expected.spans += [
        (name, begin, over) for name, (begin, over) in zip(phases, pairwise(edges), strict=True)
    ]
    expected.losses.append(60.0 if step == SPIKED else 2.0 * 0.98**step + 0.1 + 0.01 * (step % 3))
    worker.scalar("loss", step, expected.losses[-1])
    worker.scalar("learning_rate", step, 0.1)
    worker.scalar("accuracy", step, step / STEPS, source="user")
    if step % 20 == 0:
        _tensors(worker, step)
    if step == PROFILED:
        _profiles(worker)
    worker.step(step, phases, rest=REST_SECONDS)


def layer_values(layer: int, step: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """The gradient of a layer at a step: layer 1 becomes NaN, layer 2 is always zero."""
    if (layer, step) == (1, BROKEN):
        return np.array([np.nan, 4.0])
    return np.array([3.0, 4.0]) * (0 if layer == 2 else 10.0**-layer) * (1 + step)


def _tensors(worker: FakeWorker, step: int) -> None:
    for number, layer in enumerate(LAYERS):
        worker.add_tensor(f"gradient/{layer}", "gradients")
        worker.statistics(f"gradient/{layer}", step, layer_values(number, step))
        worker.add_tensor(layer, "weights")
        worker.statistics(layer, step, np.array([1.0, -1.0]) * (1 + step / 100))
    if step == SAVED_STEP:
        worker.values(step, {"body.weight": SAVED})


def _profiles(worker: FakeWorker) -> None:
    """Write operators of the forward pass and a Python profile of the step."""
    worker.operation("aten::linear", "operator", 0.06, 0.1, module="body", self_ns=20_000_000)
    worker.operation("aten::addmm", "operator", 0.07, 0.08, module="body")
    worker.operation("aten::relu", "operator", 0.17, 0.02, module="body")
    main_, model = ("<module>", "/home/user/train.py", 1), ("forward", "/home/user/model.py", 7)
    profile = FakeProfile(worker, first_step=PROFILED)
    profile.add_samples((main_, model), 300).add_samples((main_,), 100).write()


def _resumed(uri: str) -> None:
    """A job killed after ten seconds and completed by a second attempt five seconds later."""
    job = FakeJob(uri)
    _train(job, attempt=1, steps=20)
    job.fail(ExitReason.SIGNAL, "killed by SIGKILL", code=137)
    job.clock.advance(5)
    second_attempt = replace(job._attempt(), number=2)
    _train(job, attempt=2, steps=40)
    result = Exit(JobState.COMPLETED, ExitReason.EXIT, job.clock.now_ns(), code=0)
    for what, record in (("start", second_attempt), ("exit", result)):
        job.backend.write(attempt_key(NODE, 2, what), encode_facts(record))


def _train(job: FakeJob, attempt: int, steps: int) -> None:
    worker = job.worker(attempt=attempt)
    for step in range(steps):
        worker.scalar("loss", step, 1.0 / (1 + step)).step(step, PHASES, rest=REST_SECONDS)
    worker.beat(is_over=True).flush()


def _failed(uri: str) -> None:
    job = FakeJob(uri)
    worker = job.worker()
    for step in range(20):
        worker.scalar("loss", step, 1.0 + step).step(step, PHASES)
    worker.fail("RuntimeError: mat1 and mat2 shapes cannot be multiplied").flush()
    job.fail()


def _hostile(store: str) -> None:
    """Jobs with scripts as names of nodes, rules, tensors and jobs."""
    hostile(store, HOSTILE)
    FakeJob(f"{store}/{ATTACK}").end()
    job = FakeJob(f"{store}/{HOSTILE_INSIDE}", node=ATTACK)
    job.record({"cpu.utilization_percent/cpu0": [50.0] * 20, f"own.{ATTACK}/{ATTACK}": [1.0] * 20})
    worker = job.worker(node=ATTACK)
    worker.add_tensor(ATTACK, ATTACK)
    for step in range(8):
        worker.scalar(ATTACK, step, 1.0).statistics(ATTACK, step, [1.0, 2.0])
        worker.operation(ATTACK, "operator", 0.0, 0.01)
        worker.span(ATTACK, 0.0, 0.02, step, category="user")
        worker.step(step, PHASES)
    worker.fail(f"RuntimeError: {ATTACK}").flush()
    job.fail(message=ATTACK)
