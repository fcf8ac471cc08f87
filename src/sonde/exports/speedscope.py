"""Python profiles for https://www.speedscope.app, one per window and thread.

The outermost frame of the training thread is its mode and phase.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from sonde import __version__
from sonde.analyze.python_profile import NodeTimes
from sonde.exports._export import Advance, Export, Selection
from sonde.read.python_profiles import ReadProfile
from sonde.records.python_profile import Function
from sonde.records.step import Mode

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class Speedscope(Export):
    """Python profiles for https://www.speedscope.app."""

    needs_python = True

    def write(self, selection: Selection, sink: BinaryIO, advance: Advance) -> None:
        frames = _Frames()
        profiles = []
        for window in selection.python:
            for profile in _profiles(window, frames):
                profiles.append(profile)
                advance(len(profile["samples"]))
        document = {
            "$schema": _SCHEMA,
            "exporter": f"sonde {__version__}",
            "name": selection.job,
            "activeProfileIndex": 0,
            "shared": {"frames": frames.frames},
            "profiles": profiles,
        }
        sink.write(json.dumps(document, separators=(",", ":")).encode())


class _Frames:
    """Numbered frames without duplicates."""

    def __init__(self) -> None:
        self.frames: list[dict[str, Any]] = []
        self._numbers: dict[Function, int] = {}

    def number(self, function: Function) -> int:
        if function not in self._numbers:
            self._numbers[function] = len(self.frames)
            frame: dict[str, Any] = {"name": function.name}
            if function.file:
                frame |= {"file": function.file, "line": function.line}
            self.frames.append(frame)
        return self._numbers[function]


def _profiles(window: ReadProfile, frames: _Frames) -> Iterator[dict[str, Any]]:
    node_times = NodeTimes.of(window.profile)
    steps = [step for mode, step in window.steps if mode == Mode.TRAIN]
    step_range = f"steps {min(steps)} to {max(steps)}" if steps else "no step"
    for number, thread in enumerate(window.profile.threads):
        thread_amounts = node_times.take(node_times.threads == number)
        order = np.argsort(thread_amounts.times, kind="stable")
        moments = window.times[thread_amounts.times[order]].tolist() if number == 0 else None
        stacks = _stacks(window, frames)
        samples, weights = _merged(
            [
                (*((_phase(window, frames, moments[index]),) if moments else ()), *stacks[node])
                for index, node in enumerate(thread_amounts.nodes[order].tolist())
            ],
            thread_amounts.ns[order].tolist(),
        )
        yield {
            "type": "sampled",
            "name": f"worker {window.worker}, {thread}, {step_range}",
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": samples,
            "weights": weights,
        }


def _stacks(window: ReadProfile, frames: _Frames) -> list[tuple[int, ...]]:
    """The stack of every node, outermost function first."""
    profile = window.profile
    stacks: list[tuple[int, ...]] = []
    numbers = [frames.number(function) for function in profile.functions]
    for parent, function in zip(profile.parents, profile.node_functions, strict=True):
        above: tuple[int, ...] = stacks[parent] if parent >= 0 else ()
        stacks.append((*above, numbers[function]))
    return stacks


def _phase(window: ReadProfile, frames: _Frames, moment: int) -> int:
    where = window.moments[moment]
    return frames.number(Function(f"{where.mode}: {where.phase}"))


def _merged(
    stacks: Sequence[tuple[int, ...]], weights: Sequence[int]
) -> tuple[list[list[int]], list[int]]:
    """Merge equal consecutive stacks."""
    samples: list[list[int]] = []
    sums: list[int] = []
    last: tuple[int, ...] | None = None
    for stack, weight in zip(stacks, weights, strict=True):
        if stack == last:
            sums[-1] += weight
        else:
            samples.append(list(stack))
            sums.append(weight)
        last = stack
    return samples, sums
