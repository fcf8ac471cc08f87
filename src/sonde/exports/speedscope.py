"""Profiles of Python as https://www.speedscope.app opens them: one per window and thread.

The outermost frame of the thread that trains is the mode and the phase it was in.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np

from sonde import __version__
from sonde.analyze.python_profile import Amounts
from sonde.exports._export import Advance, Export, Selection
from sonde.read.python_profiles import ReadProfile
from sonde.records.python_profile import Function
from sonde.records.step import Mode

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


class Speedscope(Export):
    """Where Python spends its time, for https://www.speedscope.app."""

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
            "shared": {"frames": frames.known},
            "profiles": profiles,
        }
        sink.write(json.dumps(document, separators=(",", ":")).encode())


class _Frames:
    """Frames by their numbers, each once."""

    def __init__(self) -> None:
        self.known: list[dict[str, Any]] = []
        self._numbers: dict[Function, int] = {}

    def number(self, function: Function) -> int:
        if function not in self._numbers:
            self._numbers[function] = len(self.known)
            frame: dict[str, Any] = {"name": function.name}
            if function.file:
                frame |= {"file": function.file, "line": function.line}
            self.known.append(frame)
        return self._numbers[function]


def _profiles(window: ReadProfile, frames: _Frames) -> Iterator[dict[str, Any]]:
    amounts = Amounts.of(window.profile)
    steps = [step for mode, step in window.steps if mode == Mode.TRAIN]
    which = f"steps {min(steps)} to {max(steps)}" if steps else "no step"
    for number, thread in enumerate(window.profile.threads):
        part = amounts.take(amounts.threads == number)
        order = np.argsort(part.times, kind="stable")
        moments = window.times[part.times[order]].tolist() if number == 0 else None
        stacks = _stacks(window, frames)
        samples, weights = _merged(
            [
                (*((_phase(window, frames, moments[place]),) if moments else ()), *stacks[node])
                for place, node in enumerate(part.nodes[order].tolist())
            ],
            part.ns[order].tolist(),
        )
        yield {
            "type": "sampled",
            "name": f"worker {window.worker}, {thread}, {which}",
            "unit": "nanoseconds",
            "startValue": 0,
            "endValue": sum(weights),
            "samples": samples,
            "weights": weights,
        }


def _stacks(window: ReadProfile, frames: _Frames) -> list[tuple[int, ...]]:
    """The stack of every node, the outermost function first."""
    profile = window.profile
    found: list[tuple[int, ...]] = []
    numbers = [frames.number(one) for one in profile.functions]
    for parent, function in zip(profile.parents, profile.node_functions, strict=True):
        above: tuple[int, ...] = found[parent] if parent >= 0 else ()
        found.append((*above, numbers[function]))
    return found


def _phase(window: ReadProfile, frames: _Frames, moment: int) -> int:
    where = window.moments[moment]
    return frames.number(Function(f"{where.mode}: {where.phase}"))


def _merged(
    stacks: Sequence[tuple[int, ...]], weights: Sequence[int]
) -> tuple[list[list[int]], list[int]]:
    """Neighbours that are alike, as one."""
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
