"""The requests that the dashboard sends about one job, in the order of their importance.

A bundle holds the replies to as many of them as fit into its size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import product
from typing import Any

from sonde.clock import NANOSECONDS, from_iso
from sonde.web.answers.charts import loaded_charts

Window = tuple[float, float]  # seconds since the start of the job

_FULL_PIXELS = 1400
_SMALL_PIXELS = 300  # of each of many nodes
_MANY_NODES = 8
_MAX_TIMELINE_WORKERS = 8
_SHOWN_WORKERS = 4  # on the timeline page, unless others are selected
_MAX_DEVICES = 8  # shown as one line each
_MAX_FINDINGS = 12  # whose time ranges are recorded in detail
_MAX_STEPS = 2000
_MAX_TENSORS = 64  # whose statistics are recorded
MAX_DISTRIBUTIONS = 24  # tensors whose histograms and values are recorded
_TENSORS_PER_REQUEST = 12
_LAYER_STATISTICS = ("l2_norm", "zero_fraction", "update_ratio", "abs_mean")
_ZOOM_LEVELS = 4
_FLEET_METRICS = (
    *("gpu.utilization_percent", "gpu.memory_used_percent", "cpu.utilization_percent"),
    *("memory.used_percent", "network.receive_bytes_per_second"),
)
_MAIN_METRICS = frozenset(
    (
        *_FLEET_METRICS,
        *("cpu.iowait_percent", "process_tree.cpu_percent"),
        "network.transmit_bytes_per_second",
    )
)
_FINDING_MARGIN_SECONDS = 2.0  # shown before and after a short finding


class Topic(StrEnum):
    """What a request is about, for the note on what a bundle leaves out."""

    SUMMARY = "summary"
    NODES = "nodes and workers"
    TIMELINE = "timeline"
    FINDINGS = "details of findings"
    TENSORS = "tensors"
    PROFILE = "Python profile"
    ZOOM = "zoom levels"


@dataclass(frozen=True, slots=True)
class ApiRequest:
    """A request for the data of a job."""

    topic: Topic
    path: str  # below the job
    parameters: Mapping[str, str] = field(default_factory=dict)
    # parameters that only bound what the reply contains: a request for less has the same reply
    bounds: Mapping[str, str] = field(default_factory=dict)
    window: Window | None = None
    pixels: int | None = None
    is_exact: bool = False  # its numbers hold for this window only, not for windows inside it


@dataclass(frozen=True, slots=True)
class JobOutline:
    """What is needed to list the requests of a job: parts of its document, and its metrics."""

    document: Mapping[str, Any]
    metrics: Mapping[str, Sequence[Mapping[str, Any]]]  # by node
    tensors: Sequence[Mapping[str, Any]]  # those with findings first
    saved_steps: Mapping[str, int]  # the last step at which a tensor's values were saved
    profiled: Sequence[Mapping[str, Any]]  # windows on the timeline

    @property
    def seconds(self) -> float:
        """The duration of the job."""
        return float(self.document["t1"] - self.document["t0"])

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """The most important findings."""
        return list(self.document["findings"]["findings"])[:_MAX_FINDINGS]

    @property
    def nodes(self) -> Sequence[str]:
        """All nodes, those with findings first."""
        names = [node["name"] for node in self.document["nodes"]]
        named = [finding["node"] for finding in self.findings if finding["node"] in names]
        return list(dict.fromkeys([*named, *names]))

    @property
    def workers(self) -> Sequence[int]:
        """All ranks, those with findings first."""
        ranks = [worker["rank"] for worker in self.document["workers"]]
        named = [finding["worker"] for finding in self.findings if finding["worker"] in ranks]
        return list(dict.fromkeys([*named, *ranks]))


def requests_of(outline: JobOutline) -> list[ApiRequest]:
    """All requests, the most important first."""
    return [
        *_summary(outline),
        *_whole_job(outline),
        *_findings(outline),
        *_tensors(outline),
        ApiRequest(Topic.PROFILE, "flame"),
        *_zoom_levels(outline),
    ]


def _timeline_windows(outline: JobOutline) -> list[Window]:
    """The windows that the timeline page opens for profiles, with margins."""
    profiled = outline.profiled
    if not profiled:
        return []
    first = [window for window in profiled if window["worker"] == profiled[0]["worker"]]
    windows = [(window["start"], window["end"]) for window in first]
    windows.append((windows[0][0], max(end for _, end in windows)))
    margins = [max(0.06 * (end - start), 1e-3) for start, end in windows]
    return [
        _clipped((start - margin, end + margin), outline.seconds)
        for (start, end), margin in zip(windows, margins, strict=True)
    ]


def _timeline(outline: JobOutline, window: Window) -> Iterator[ApiRequest]:
    """The timeline of a window, and its totals."""
    workers = ",".join(map(str, outline.workers[:_MAX_TIMELINE_WORKERS]))
    yield ApiRequest(Topic.TIMELINE, "timeline", {}, {"workers": workers}, window, _FULL_PIXELS)
    shown = ",".join(map(str, sorted(outline.workers)[:_SHOWN_WORKERS]))
    totals = {"workers": shown, "track": ""}
    yield ApiRequest(Topic.TIMELINE, "timeline/totals", totals, window=window, is_exact=True)


def _summary(outline: JobOutline) -> Iterator[ApiRequest]:
    for path in ("", "headline", "charts", "rules"):
        yield ApiRequest(Topic.SUMMARY, path)
    for name, _ in loaded_charts():
        yield ApiRequest(Topic.SUMMARY, f"charts/{name}")
    for node in outline.nodes:
        yield ApiRequest(Topic.NODES, "metrics", {"node": node})
    yield ApiRequest(Topic.SUMMARY, "logs")


def _whole_job(outline: JobOutline) -> Iterator[ApiRequest]:
    whole = (0.0, outline.seconds)
    is_large = len(outline.nodes) > _MANY_NODES
    if len(outline.nodes) > 1:
        yield _fleet(outline, "", whole)
    for index, node in enumerate(outline.nodes):
        is_main = index < _MANY_NODES
        pixels = _FULL_PIXELS if is_main else _SMALL_PIXELS
        yield from _node(outline, node, whole, pixels, is_complete=not is_large or is_main)
    for rank in outline.workers:
        yield from _worker(outline, rank, whole)
    yield from _breakdowns(outline, whole)
    for window in (whole, *_timeline_windows(outline)):
        yield from _timeline(outline, window)
    for metric in _FLEET_METRICS if len(outline.nodes) > 1 else ():
        yield _fleet(outline, metric, whole)
    for node in outline.nodes[:_MANY_NODES]:
        for by in ("max", "min"):
            shown = {"node": node, "by": by}
            yield ApiRequest(Topic.NODES, "heat", shown, window=whole, pixels=_FULL_PIXELS)


def _findings(outline: JobOutline) -> Iterator[ApiRequest]:
    for finding in outline.findings:
        yield ApiRequest(Topic.FINDINGS, "finding", {"id": finding["id"]})
        if finding["time"] is None:
            continue
        start, end = (
            from_iso(time) / NANOSECONDS - outline.document["t0"] for time in finding["time"]
        )
        margin = max((end - start) / 2, _FINDING_MARGIN_SECONDS)
        window = _clipped((start - 1.1 * margin, end + 1.1 * margin), outline.seconds)
        node = finding["node"] or next(iter(outline.nodes), None)
        if node is not None:
            yield from _node(outline, node, window, _FULL_PIXELS, topic=Topic.FINDINGS)
        if finding["worker"] is not None:
            yield _spans(finding["worker"], window, Topic.FINDINGS)


def _tensors(outline: JobOutline) -> Iterator[ApiRequest]:
    yield ApiRequest(Topic.TENSORS, "tensors")
    if not outline.tensors:
        return
    collections = dict.fromkeys(name for each in outline.tensors for name in each["collections"])
    for reduction, collection in product(_LAYER_STATISTICS, collections):
        shown = {"collection": collection, "reduction": reduction, "mode": "train", "search": ""}
        yield ApiRequest(Topic.TENSORS, "tensors/layers", shown, pixels=400)
    names = [tensor["name"] for tensor in outline.tensors]
    for start in range(0, min(len(names), _MAX_TENSORS), _TENSORS_PER_REQUEST):
        batch = "\n".join(names[start : start + _TENSORS_PER_REQUEST])
        shown = {"reduction": "l2_norm", "mode": "train"}
        yield ApiRequest(Topic.TENSORS, "tensors/statistics", shown, {"names": batch})
    for name in names[:MAX_DISTRIBUTIONS]:
        shown = {"name": name, "mode": "train"}
        yield ApiRequest(Topic.TENSORS, "tensors/histograms", shown, pixels=200)
    for tensor in outline.tensors[:MAX_DISTRIBUTIONS]:
        saved = saved_steps_request(tensor)
        yield saved
        if tensor["name"] in outline.saved_steps:
            step = str(outline.saved_steps[tensor["name"]])
            corner = {"row": "0", "column": "0"}
            shown = {**saved.parameters, **corner, "step": step}
            yield ApiRequest(Topic.TENSORS, "tensors/value", shown)


def saved_steps_request(tensor: Mapping[str, Any]) -> ApiRequest:
    """The steps at which the values of a tensor were saved."""
    worker = "0" if tensor["is_shard"] else ""
    shown = {"name": tensor["name"], "mode": "train", "worker": worker, "step": ""}
    return ApiRequest(Topic.TENSORS, "tensors/value", shown)


def _zoom_levels(outline: JobOutline) -> Iterator[ApiRequest]:
    """Overlapping windows of half the length on each level, so that any shorter one is covered."""
    for level in range(1, _ZOOM_LEVELS + 1):
        length = outline.seconds / 2**level
        for index in range(2 ** (level + 1) - 1):
            window = (index * length / 2, index * length / 2 + length)
            for node in outline.nodes[:1]:
                yield from _node(outline, node, window, _FULL_PIXELS, topic=Topic.ZOOM)
            for rank in outline.workers[:1]:
                yield _spans(rank, window, Topic.ZOOM)
            yield next(_timeline(outline, window))


def _node(
    outline: JobOutline,
    node: str,
    window: Window,
    pixels: int,
    *,
    topic: Topic = Topic.NODES,
    is_complete: bool = True,
) -> Iterator[ApiRequest]:
    keys = ",".join(_keys(outline.metrics.get(node, ()), is_complete=is_complete))
    if keys:
        yield ApiRequest(topic, "series", {"node": node}, {"keys": keys}, window, pixels)
        by_mean = {"node": node, "by": "mean"}
        yield ApiRequest(topic, "heat", by_mean, window=window, pixels=pixels)


def _worker(outline: JobOutline, rank: int, whole: Window) -> Iterator[ApiRequest]:
    yield _spans(rank, whole, Topic.NODES)
    for mode in outline.document["steps"]:
        parameters = {"worker": str(rank), "mode": mode}
        yield ApiRequest(Topic.NODES, "steps", parameters, {"last": str(_MAX_STEPS)})


def _breakdowns(outline: JobOutline, whole: Window) -> Iterator[ApiRequest]:
    """For each node its workers; the first worker of the job for nodes without workers."""
    workers = outline.document["workers"]
    for node in outline.nodes:
        ranks = [worker["rank"] for worker in workers if worker["node"] == node]
        for rank in ranks or [worker["rank"] for worker in workers[:1]] or [""]:
            parameters = {"worker": str(rank), "node": node}
            yield ApiRequest(Topic.NODES, "breakdown", parameters, window=whole, is_exact=True)


def _spans(rank: int, window: Window, topic: Topic) -> ApiRequest:
    parameters = {"worker": str(rank)}
    return ApiRequest(topic, "spans", parameters, window=window, pixels=_FULL_PIXELS)


def _fleet(outline: JobOutline, metric: str, window: Window) -> ApiRequest:
    pixels = _FULL_PIXELS if len(outline.nodes) <= _MANY_NODES else 2 * _SMALL_PIXELS
    parameters = {"metric": metric, "by": "mean"}
    return ApiRequest(Topic.NODES, "fleet", parameters, window=window, pixels=pixels)


def _keys(metrics: Sequence[Mapping[str, Any]], *, is_complete: bool) -> Iterator[str]:
    """The series of a node, its devices individually if they are few."""
    for metric in metrics:
        name, devices = metric["metric"], metric["devices"]
        if not (is_complete or name in _MAIN_METRICS):
            continue
        if metric["has_whole"]:
            yield name
        if devices:
            yield f"{name}:*mean"
        if len(devices) <= _MAX_DEVICES or name.startswith("network."):
            yield from (f"{name}:{device}" for device in devices if "," not in device)


def _clipped(window: Window, seconds: float) -> Window:
    """The part of a window inside the job."""
    return max(0.0, window[0]), min(seconds, window[1])
