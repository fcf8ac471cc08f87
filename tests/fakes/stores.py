"""Large and unusual stores, made in seconds from sealed segments with roll-ups.

`python -m tests.fakes.stores FOLDER KIND …` makes them for viewing in a browser.
"""

import dataclasses
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sonde.clock import NANOSECONDS
from sonde.records.finding import (
    Episode,
    Evaluation,
    Evaluations,
    Finding,
    RuleStatus,
    Setting,
    Severity,
)
from sonde.records.job import (
    Attempt,
    Exit,
    ExitReason,
    Heartbeat,
    JobInfo,
    JobState,
    Launcher,
    Overhead,
)
from sonde.records.metric import MetricInfo, Series
from sonde.records.worker import WorkerBeat, WorkerInfo
from sonde.results.job_summary import read_summary
from sonde.store import layout
from sonde.store.backends import Backend, open_backend
from sonde.store.facts import decode_facts, encode_facts
from sonde.store.format import EVENTS, FINDINGS, SCALARS, SYSTEM, TEXT, Family
from sonde.store.manifest import Manifest, SourceSegment
from sonde.store.seal import FamilyFolder, _seal
from sonde.store.tables import from_numpy, from_texts, schema_of

START_NS = 1_790_000_000 * NANOSECONDS
PHASES = (("data_wait", 0.1), ("forward", 0.3), ("backward", 0.45), ("optimizer", 0.1))

Array = npt.NDArray[Any]


@dataclass
class _Ready:
    """Rows or samples to be sealed unchanged."""

    name: str
    rows_count: int
    series: tuple[Series, ...] = ()
    table: pa.Table | None = None
    times_ns: Array | None = None
    values: Array | None = None
    key: str = ""
    damages: tuple[str, ...] = ()

    @property
    def parts(self) -> tuple[SourceSegment, ...]:
        return (SourceSegment(self.name, self.rows_count),)

    def samples(self, keys: Sequence[str], within: object) -> tuple[Array | None, Array | None]:
        assert list(keys) == [series.key for series in self.series]
        return self.times_ns, self.values

    def rows(self, within: object) -> pa.Table | None:
        return self.table


def _segment(start_ns: int) -> str:
    return str(layout.SegmentName(start_ns, "0" * 8))


def seal_samples(
    backend: Backend, node: str, columns: Mapping[Series, Array], times_ns: Array
) -> None:
    """Write a segment of samples with its roll-ups."""
    name = _segment(int(times_ns[0]))
    values = np.stack([np.asarray(column, dtype=np.float32) for column in columns.values()])
    ready = _Ready(name, len(times_ns), tuple(columns), times_ns=times_ns, values=values)
    _seal(FamilyFolder(backend, layout.node_folder(node), SYSTEM), name, [ready])  # type: ignore[list-item]


def seal_rows(backend: Backend, folder: str, family: Family, columns: Mapping[str, Any]) -> None:
    """Write a segment of rows; a text column is one text, or texts with an index per row."""
    kinds = dict(family.columns)
    times = np.asarray(columns[family.time_column])
    arrays = [_column(columns[name], kinds[name], len(times)) for name in kinds]
    table = pa.table(arrays, schema=schema_of(family))
    name = _segment(int(times[0]))
    ready = _Ready(name, table.num_rows, table=table)
    _seal(FamilyFolder(backend, folder, family), name, [ready])  # type: ignore[list-item]


def _column(values: Any, kind: str, rows: int) -> pa.Array:
    if kind != TEXT:
        return from_numpy(np.asarray(values))
    if isinstance(values, str):
        values = ([values], np.zeros(rows))
    texts, numbers = values
    numbers = from_numpy(np.asarray(numbers).astype(np.int32))
    return pa.DictionaryArray.from_arrays(numbers, from_texts(list(texts)))


@dataclass(frozen=True)
class Shape:
    """The size of a job."""

    seconds: float = 600.0
    every_seconds: float = 1.0
    nodes: int = 1
    cores: int = 8
    gpus: int = 2
    workers: int = 1
    step_seconds: float = 0.5

    @property
    def times_ns(self) -> Array:
        ticks = int(self.seconds / self.every_seconds)
        every_ns = round(self.every_seconds * NANOSECONDS)
        return START_NS + np.arange(ticks, dtype=np.int64) * every_ns


def write_job(store: str, name: str, shape: Shape, node_names: Sequence[str] = ()) -> Backend:
    """Write a finished job with samples, workers and losses; the last node is slow."""
    backend = open_backend(f"{store}/{name}")
    nodes = list(node_names) or [f"node-{number:04d}" for number in range(shape.nodes)]
    backend.write(layout.JOB, encode_facts(JobInfo(name, START_NS, nodes[0])))
    _nodes(backend, shape, nodes)
    for rank in range(shape.workers):
        write_worker(backend, shape, rank, nodes[rank % len(nodes)])
    return backend


_TEMPLATES = 16  # distinct nodes; the rest are copies


def _nodes(backend: Backend, shape: Shape, nodes: Sequence[str]) -> None:
    templates: dict[int, str] = {}
    for number, node in enumerate(nodes):
        write_attempt(backend, node, shape)
        is_slow = number == len(nodes) - 1 and number > 0
        kind = -1 if is_slow else number % _TEMPLATES
        if kind in templates:
            _copy_samples(backend, templates[kind], node)
        else:
            templates[kind] = node
            columns = machine(shape, seed=number, load=0.3 if is_slow else 1.0)
            seal_samples(backend, node, columns, shape.times_ns)


def _copy_samples(backend: Backend, source: str, node: str) -> None:
    old, new = (f"{layout.node_folder(name)}/" for name in (source, node))
    for entry in backend.entries(f"{layout.node_folder(source)}/{SYSTEM.name}"):
        data = backend.read(entry.key)
        key = entry.key.replace(old, new, 1)
        if key.endswith(layout.MANIFEST_SUFFIX):
            text = json.dumps(dataclasses.asdict(decode_facts(Manifest, data, entry.key)))
            moved = json.loads(text.replace(f'"{old}', f'"{new}'))
            data = encode_facts(_Moved(**moved), key)
        _put(backend, key, data)


def _put(backend: Backend, key: str, data: bytes) -> None:
    """Write a file without syncing, which is faster for thousands of files."""
    path = Path(backend.uri, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


_Moved: Any = dataclasses.make_dataclass(
    "_Moved", [field.name for field in dataclasses.fields(Manifest)], frozen=True
)


def machine(shape: Shape, seed: int, load: float = 1.0) -> dict[Series, Array]:
    """Return the samples of a node: busy cores and GPUs, starved for a while."""
    random = np.random.default_rng(seed)
    ticks = len(shape.times_ns)
    moments = np.linspace(0, 1, ticks)
    starved = (moments > 0.4) & (moments < 0.5)
    columns: dict[Series, Array] = {}

    def add(metric: str, unit: str, values: Array, device: str = "") -> None:
        columns[Series(MetricInfo(metric, unit, f"what {metric} is"), device)] = values

    busy = load * np.where(starved, 30.0, 92.0)
    gpus = [np.clip(busy + random.normal(0, 4, ticks), 0, 100) for _ in range(shape.gpus)]
    for number, values in enumerate(gpus):
        add("gpu.utilization_percent", "percent", values, f"gpu{number}")
        add("gpu.memory_used_bytes", "bytes", 6e10 + 1e8 * values, f"gpu{number}")
    levels = random.uniform(5, 80, shape.cores)
    cores = [np.clip(level + random.normal(0, 6, ticks), 0, 100) for level in levels]
    for number, values in enumerate(cores):
        add("cpu.utilization_percent", "percent", values, f"cpu{number}")
    add("cpu.utilization_percent", "percent", np.mean(cores, axis=0))
    add("cpu.iowait_percent", "percent", np.where(starved, 20.0, 1.0))
    add("memory.used_percent", "percent", 40 + 10 * moments)
    for way in ("receive", "transmit"):
        rates = random.gamma(2, 1e7, ticks)
        add(f"network.{way}_bytes_per_second", "bytes_per_second", rates, "eth0")
    return columns


def write_attempt(
    backend: Backend, node: str, shape: Shape, state: JobState = JobState.COMPLETED
) -> None:
    """Write an attempt of a node, from start to end."""
    end_ns = START_NS + round(shape.seconds * NANOSECONDS)
    launcher = Launcher(1, "0", "elsewhere")
    every = shape.every_seconds
    start = Attempt(node, 1, START_NS, ("python", "train.py"), "/", 1, launcher, every)
    overhead = Overhead(0.005 * shape.seconds, 1 << 20, shape.seconds)
    code = 0 if state is JobState.COMPLETED else 1
    for what, record in (
        ("start", start),
        ("heartbeat", Heartbeat(end_ns, 10.0, overhead, end_ns, every)),
        ("exit", Exit(state, ExitReason.EXIT, end_ns, code=code)),
    ):
        _put(backend, layout.attempt_key(node, 1, what), encode_facts(record))


def write_worker(backend: Backend, shape: Shape, rank: int, node: str) -> None:
    """Write a worker that trained during the whole job."""
    steps = int(shape.seconds / shape.step_seconds)
    info = WorkerInfo(rank, node, 1, 0, 100, START_NS, shape.workers, 0, "torch", {}, "cuda:0")
    end_ns = START_NS + round(shape.seconds * NANOSECONDS)
    beat = WorkerBeat(end_ns, {"train": steps}, 0.1, 0.2, shape.seconds, 1000, is_over=True)
    for what, record in (("start", info), ("beat", beat)):
        backend.write(layout.worker_key(rank, 1, 0, what), encode_facts(record))
    folder = layout.worker_folder(rank)
    seal_rows(backend, folder, EVENTS, training_events(shape, steps, seed=rank))
    numbers = np.arange(steps)
    noise = np.random.default_rng(rank).normal(0, 0.05, steps)
    losses = (0.3 + 2.0 * np.exp(-numbers / max(1, steps / 5))) * (1 + noise)
    rows = {"name": "loss", "mode": "train", "source": "hook", "step": numbers, "value": losses}
    times_ns = START_NS + np.round((numbers + 1) * shape.step_seconds * NANOSECONDS)
    seal_rows(backend, folder, SCALARS, {**rows, "time_ns": times_ns.astype(np.int64)})


def training_events(shape: Shape, steps: int, seed: int = 0) -> dict[str, Any]:
    """Return consecutive steps with their phases."""
    step_ns = round(shape.step_seconds * NANOSECONDS)
    random = np.random.default_rng(seed)
    lasted = step_ns * (1 - 0.05 * random.random(steps))
    starts = START_NS + np.arange(steps) * step_ns
    shares = np.cumsum([0.0, *(share for _, share in PHASES)])
    # round to nanoseconds first, so that each phase begins where the previous one ends
    edges = starts + np.round(shares[:, None] * lasted).astype(np.int64)
    begins = np.vstack([edges[:-1], starts])
    durations = np.vstack([np.diff(edges, axis=0), np.round(lasted).astype(np.int64)])
    names = [name for name, _ in PHASES]
    order = np.arange(steps).repeat(len(names) + 1)
    lanes = np.tile(np.arange(len(names) + 1), steps)
    is_step = (lanes == len(names)).astype(np.int64)
    return {
        "name": ([*names, "step"], lanes),
        "category": (["phase", "step"], is_step),
        "lane": "main",
        "start_ns": begins.T.reshape(-1),
        "duration_ns": durations.T.reshape(-1),
        "step": order,
        "mode": "train",
        "detail": "",
    }


def write_findings(backend: Backend, findings: Iterable[Finding]) -> None:
    """Write findings, each of its own rule."""
    episodes = [
        Episode(f"{number:04d}", finding, START_NS, START_NS + NANOSECONDS, 3, first_step=1)
        for number, finding in enumerate(findings)
    ]
    records = [json.dumps(dataclasses.asdict(episode)) for episode in episodes]
    numbers = np.arange(len(episodes))
    columns = {
        "time_ns": START_NS + numbers,
        "rule": ([episode.finding.rule for episode in episodes], numbers),
        "severity": ([episode.severity.value for episode in episodes], numbers),
        "message": ([episode.finding.message for episode in episodes], numbers),
        "record": (records, numbers),
    }
    seal_rows(backend, layout.FINDINGS_FOLDER, FINDINGS, columns)
    rules = tuple(
        Evaluation(
            episode.finding.rule,
            Setting.CALIBRATED,
            RuleStatus.ISSUES_FOUND,
            {"threshold": 1.0},
            description=f"What {episode.finding.rule} asks.",
            recommendation=episode.finding.advice,
            datapoints=100,
            triggered=episode.triggered,
            episode_ids=(episode.id,),
        )
        for episode in episodes
    )
    backend.write(layout.rules_key("evaluations"), encode_facts(Evaluations(rules)))


def fleet(store: str, nodes: int, name: str = "") -> Backend:
    """Write a job of many nodes with GPUs and a few cores, 10 minutes long."""
    shape = Shape(nodes=nodes, cores=2, gpus=2, workers=min(nodes, 8))
    return write_job(store, name or f"fleet-{nodes}", shape)


def long_job(store: str, hours: float = 24.0, name: str = "day") -> Backend:
    """Write a job of a day with 120 series, sampled twice a second, and its steps."""
    shape = Shape(seconds=3600 * hours, every_seconds=0.5, cores=97, gpus=9, workers=1)
    return write_job(store, name, shape)


def large_node(store: str, name: str = "large-node") -> Backend:
    """Write a job on a machine with 256 cores and 64 GPUs."""
    return write_job(store, name, Shape(cores=256, gpus=64, workers=8))


def many_jobs(store: str, count: int = 5000, *, is_summarized: bool = True) -> None:
    """Write a long list of jobs: copies of two small jobs, one of which failed."""
    sources = [
        write_job(store, f"job-{number:05d}", Shape(seconds=60, cores=1, gpus=1))
        for number in range(2)
    ]
    write_attempt(sources[1], "node-0000", Shape(seconds=30), JobState.FAILED)
    write_findings(sources[1], [Finding("LossSpike", Severity.WARNING, "The loss jumped.")])
    for source in sources if is_summarized else ():  # as the end of a job does
        assert read_summary(source, START_NS, is_complete=True)
    skipped = (f"/{SYSTEM.name}/", f"/{EVENTS.name}/", f"/{layout.JOB}")
    keys = [
        [
            entry.key
            for entry in source.entries("")
            if not any(folder_name in f"/{entry.key}" for folder_name in skipped)
        ]
        for source in sources
    ]
    folders = [sorted({str(Path(key).parent) for key in source_keys}) for source_keys in keys]
    for number in range(2, count):
        kind = number % 2
        copy = Path(store, f"job-{number:05d}")
        for folder in folders[kind]:
            (copy / folder).mkdir(parents=True, exist_ok=True)
        info = JobInfo(copy.name, START_NS + number * 60 * NANOSECONDS, "node-0000")
        (copy / layout.JOB).write_bytes(encode_facts(info))
        for key in keys[kind]:  # hard links, since these files never change
            os.link(f"{sources[kind].uri}/{key}", copy / key)


ATTACK = "<img src=x onerror=alert(1)>"
ATTACKS = (
    f"{ATTACK}",
    "</script><script>alert(1)</script>",
    "' onmouseover='alert(1)",
    "{{constructor.constructor('alert(1)')()}}",
    "javascript:alert(1)",
    "\u202egnp.exe",
    "a\u0000b\nc\td",
    "x" * 300,
)


def hostile(store: str, name: str = "hostile") -> Backend:
    """Write a job whose nodes, devices, rules and scalars have names that are attacks."""
    nodes = [f"node-{number}-{text}" for number, text in enumerate(_as_folders(ATTACKS))]
    backend = write_job(store, name, Shape(seconds=60, nodes=len(nodes)), nodes)
    times_ns = START_NS + np.arange(60, dtype=np.int64) * NANOSECONDS
    columns = {
        Series(MetricInfo(f"own.{number}.{text}", text, text), text): np.arange(60.0)
        for number, text in enumerate(ATTACKS)
    }
    seal_samples(backend, nodes[0], {**machine(Shape(seconds=60), 1), **columns}, times_ns)
    write_findings(
        backend,
        [
            Finding(text, Severity.CRITICAL, text, text, node=text, device=text, tensor=text)
            for text in ATTACKS
        ],
    )
    numbers = np.arange(len(ATTACKS))
    rows: dict[str, Any] = {"name": (ATTACKS, numbers), "source": (ATTACKS, numbers)}
    rows |= {"mode": "train"}
    rows |= {"step": numbers, "value": numbers / 2, "time_ns": START_NS + numbers - 1}
    seal_rows(backend, layout.worker_folder(0), SCALARS, rows)
    return backend


def _as_folders(texts: Iterable[str]) -> list[str]:
    """Return texts as valid folder names."""
    return [text.replace("/", "∕").replace("\0", "")[:60] for text in texts]


KINDS: dict[str, Callable[[str], object]] = {
    "fleet-64": lambda store: fleet(store, 64),
    "fleet-1000": lambda store: fleet(store, 1000),
    "day": long_job,
    "hour": lambda store: long_job(store, 1.0, "hour"),
    "large-node": large_node,
    "many": many_jobs,
    "hostile": hostile,
}

if __name__ == "__main__":
    for word in sys.argv[2:] or KINDS:
        KINDS[word](str(Path(sys.argv[1]).absolute()))
