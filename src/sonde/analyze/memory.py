"""Memory use in time intervals and by module, from recorded allocations and frees."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sonde.records.arrays import IntArray


@dataclass(frozen=True)
class MemoryChanges:
    """Allocations and frees on one device, sorted by time."""

    times_ns: IntArray
    sizes: IntArray  # in bytes; negative for frees
    is_held: npt.NDArray[np.bool_]  # allocations that are not freed within the window


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Memory use in a time interval; live bytes are relative to the start of the window."""

    allocated_bytes: int
    freed_bytes: int
    live_bytes: int  # at the end of the interval
    peak_bytes: int


def use_by_interval(
    changes: MemoryChanges, starts_ns: IntArray, ends_ns: IntArray
) -> list[MemoryUse]:
    """Return the memory use in each interval."""
    live = np.concatenate([[0], np.cumsum(changes.sizes)])
    firsts = np.searchsorted(changes.times_ns, starts_ns, side="left").tolist()
    lasts = np.searchsorted(changes.times_ns, ends_ns, side="left").tolist()
    result = []
    for first, last in zip(firsts, lasts, strict=True):
        sizes = changes.sizes[first:last]
        result.append(
            MemoryUse(
                allocated_bytes=int(sizes[sizes > 0].sum()),
                freed_bytes=-int(sizes[sizes < 0].sum()),
                live_bytes=int(live[last]),
                peak_bytes=int(live[first : last + 1].max()),
            )
        )
    return result


@dataclass(frozen=True, slots=True)
class ModuleUse:
    """Memory use of the calls of a module, without nested modules."""

    module: str
    calls: int
    allocated_bytes: int
    freed_bytes: int
    kept_bytes: int  # allocated minus freed in its calls
    held_bytes: int  # allocated in its calls and still allocated when the window ends
    peak_bytes: int  # highest live bytes in any of its calls, relative to the window's start


def use_by_module(
    changes: MemoryChanges, modules: tuple[str, ...], inside: IntArray, uses: list[MemoryUse]
) -> list[ModuleUse]:
    """Return the memory use of modules, sorted by held and kept bytes, largest first.

    Args:
        changes: The allocations and frees of a device.
        modules: The module of each call.
        inside: The index of the innermost call around each change, or -1.
        uses: The memory use in each call, including nested calls.
    """
    names = np.array(modules, dtype=np.object_)
    distinct, numbers = np.unique(names, return_inverse=True) if modules else (names, names)
    results = []
    for number, module in enumerate(distinct.tolist()):
        calls = np.flatnonzero(numbers == number)
        is_inside = np.isin(inside, calls)
        sizes = changes.sizes[is_inside]
        results.append(
            ModuleUse(
                module=str(module),
                calls=len(calls),
                allocated_bytes=int(sizes[sizes > 0].sum()),
                freed_bytes=-int(sizes[sizes < 0].sum()),
                kept_bytes=int(sizes.sum()),
                held_bytes=int(changes.sizes[is_inside & changes.is_held].sum()),
                peak_bytes=max(uses[call].peak_bytes for call in calls.tolist()),
            )
        )
    return sorted(results, key=lambda result: (-result.held_bytes, -result.kept_bytes))
