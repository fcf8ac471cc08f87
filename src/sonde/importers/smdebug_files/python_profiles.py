"""Python profiles of smdebug: statistics of cProfile, and call trees of pyinstrument."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Intake
from sonde.importers._rows import WorkerRows
from sonde.importers._sources import node_name
from sonde.importers.smdebug_files.call_tree import CallTree, parse_statistics, tree_of
from sonde.importers.smdebug_files.marshal_values import MarshalReader
from sonde.records.python_profile import Function, PythonProfile, PythonProfiler, PythonTimer
from sonde.records.step import NO_STEP

_FILE = re.compile(
    r".*/(?:cprofile|pyinstrument)/(?P<process>\d+)-(?P<host>[^/]+)/"
    r"[a-z]+-(?P<step>\d+|\*)-[a-z]+-(?P<start>\d+(?:\.\d+)?)_"
    r"[a-z]+-(?:\d+|\*)-[a-z]+-(?P<end>\d+(?:\.\d+)?)/python_stats(?P<json>\.json)?"
)
_MICROSECOND_NS = 1000
_TICK_NS = 1_000_000  # pyinstrument samples every millisecond
_MAX_TICKS = 10_000_000
_MAX_DEPTH = 500
_THREADS = ("main",)


@dataclass(frozen=True, slots=True)
class ProfileFile:
    """The profile of one interval of a process."""

    path: Path
    process: int  # rank or PID
    node: str
    step: int
    start_ns: int
    end_ns: int
    is_json: bool

    @classmethod
    def of(cls, path: Path) -> "ProfileFile | None":
        """Parse a path; None if it is another file."""
        match = _FILE.fullmatch(path.as_posix())
        if match is None:
            return None
        step = NO_STEP if match["step"] == "*" else int(match["step"])
        start_ns, end_ns = (
            round(float(match[edge]) * _MICROSECOND_NS) for edge in ("start", "end")
        )
        place = (int(match["process"]), node_name(match["host"]), step)
        return cls(path, *place, start_ns, max(start_ns, end_ns), match["json"] is not None)


def read_profile(file: ProfileFile, rows: WorkerRows, intake: Intake, damages: Damages) -> None:
    """Read one profile."""
    data = read_bytes(file.path, intake.advance)
    try:
        profile = _of_pyinstrument(file, data) if file.is_json else _of_cprofile(file, data)
    except (ValueError, RecursionError) as error:
        damages.add("Python profile", file.path, f"cannot be read: {error}")
        return
    rows.add_python_profile(file.step, profile)


def _of_cprofile(file: ProfileFile, data: bytes) -> PythonProfile:
    tree = tree_of(parse_statistics(MarshalReader(data).read()))
    rows = range(len(tree.parents))
    return PythonProfile(
        profiler=PythonProfiler.CPROFILE,
        **_of_file(file, tree),
        times_ns=((file.start_ns + file.end_ns) // 2,),
        row_times=(0,) * len(rows),
        row_threads=(0,) * len(rows),
        row_nodes=tuple(rows),
        row_counts=tuple(tree.calls),
        row_ns=tuple(tree.self_ns),
    )


def _of_pyinstrument(file: ProfileFile, data: bytes) -> PythonProfile:
    document = json.loads(data)
    tree = CallTree()
    root = document.get("root_frame") if isinstance(document, dict) else None
    if isinstance(root, dict):
        _add_frame(tree, root, -1, 0)
    counts = [round(self_ns / _TICK_NS) for self_ns in tree.self_ns]
    if sum(counts) > _MAX_TICKS:
        raise ValueError("its duration is impossible")
    nodes = [node for node, count in enumerate(counts) if count]
    firsts = list(accumulate(counts, initial=0))
    ticks = range(1, sum(counts) + 1)
    return PythonProfile(
        profiler=PythonProfiler.STACKS,
        **_of_file(file, tree),
        times_ns=tuple(file.start_ns + tick * _TICK_NS for tick in ticks),
        row_times=tuple(firsts[node] for node in nodes),
        row_threads=(0,) * len(nodes),
        row_nodes=tuple(nodes),
        row_counts=tuple(counts[node] for node in nodes),
        interval_ns=_TICK_NS,
    )


def _add_frame(tree: CallTree, frame: Mapping[str, Any], parent: int, depth: int) -> None:
    """Add a frame and its callees."""
    children = [child for child in frame.get("children") or () if isinstance(child, dict)]
    inner = sum(_seconds(child) for child in children)
    path = frame.get("file_path_short") or frame.get("file_path") or ""
    function = Function(str(frame.get("function", "")), str(path), int(frame.get("line_no") or 0))
    node = tree.add(function, parent, 0, _seconds(frame) - inner)
    for child in children if depth < _MAX_DEPTH else ():
        _add_frame(tree, child, node, depth + 1)


def _seconds(frame: Mapping[str, Any]) -> float:
    seconds = frame.get("time")
    return seconds if isinstance(seconds, int | float) and 0 <= seconds < _MAX_TICKS else 0.0


def _of_file(file: ProfileFile, tree: CallTree) -> dict[str, Any]:
    """The columns that both kinds of profiles share."""
    functions = tuple(tree.functions)
    return {
        "timer": PythonTimer.TOTAL,
        "start_ns": file.start_ns,
        "end_ns": file.end_ns,
        "functions": functions,
        "parents": tuple(tree.parents),
        "node_functions": tuple(tree.node_functions),
        "node_lines": tuple(functions[number].line for number in tree.node_functions),
        "threads": _THREADS,
    }
