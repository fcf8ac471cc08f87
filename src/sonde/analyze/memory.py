"""Memory of tensors in a window: arithmetic on what was allocated and freed, in order of time."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray


@dataclass(frozen=True)
class Changes:
    """What was allocated and freed on one device."""

    times_ns: IntArray
    sizes: IntArray  # in bytes; of what was freed, negative
    is_held: npt.NDArray[np.bool_]  # was allocated, and is never freed


@dataclass(frozen=True, slots=True)
class Use:
    """What became of memory in a stretch of time; live memory counts from the window's start."""

    allocated_bytes: int
    freed_bytes: int
    live_bytes: int  # at the end
    peak_bytes: int


def use_of(changes: Changes, starts_ns: IntArray, ends_ns: IntArray) -> list[Use]:
    """What each of some stretches did."""
    live = np.concatenate([[0], np.cumsum(changes.sizes)])
    firsts = np.searchsorted(changes.times_ns, starts_ns, side="left").tolist()
    lasts = np.searchsorted(changes.times_ns, ends_ns, side="left").tolist()
    result = []
    for first, last in zip(firsts, lasts, strict=True):
        sizes = changes.sizes[first:last]
        result.append(
            Use(
                allocated_bytes=int(sizes[sizes > 0].sum()),
                freed_bytes=-int(sizes[sizes < 0].sum()),
                live_bytes=int(live[last]),
                peak_bytes=int(live[first : last + 1].max()),
            )
        )
    return result


@dataclass(frozen=True, slots=True)
class ModuleUse:
    """What the calls of a module did with memory; what modules inside of it did is theirs."""

    module: str
    calls: int
    allocated_bytes: int
    freed_bytes: int
    kept_bytes: int  # was allocated by it, and is there when it returns
    held_bytes: int  # was allocated by it, and is there when the window ends
    peak_bytes: int  # the highest that was live in any of its calls, from the window's start


def use_by_module(
    changes: Changes, modules: tuple[str, ...], inside: IntArray, uses: list[Use]
) -> list[ModuleUse]:
    """What modules did, those first that hold and keep most.

    Args:
        changes: Of a device.
        modules: The module of each call.
        inside: The innermost call in which each change was made; -1 outside of all.
        uses: What was done in each call, by whomever.
    """
    names = np.array(modules, dtype=np.object_)
    distinct, of_call = np.unique(names, return_inverse=True) if modules else (names, names)
    results = []
    for number, module in enumerate(distinct.tolist()):
        calls = np.flatnonzero(of_call == number)
        is_own = np.isin(inside, calls)
        sizes = changes.sizes[is_own]
        results.append(
            ModuleUse(
                module=str(module),
                calls=len(calls),
                allocated_bytes=int(sizes[sizes > 0].sum()),
                freed_bytes=-int(sizes[sizes < 0].sum()),
                kept_bytes=int(sizes.sum()),
                held_bytes=int(changes.sizes[is_own & changes.is_held].sum()),
                peak_bytes=max(uses[call].peak_bytes for call in calls.tolist()),
            )
        )
    return sorted(results, key=lambda result: (-result.held_bytes, -result.kept_bytes))
