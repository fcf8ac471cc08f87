"""The share of each module in the host time of a phase, from profiles."""

from collections.abc import Iterable, Mapping

import numpy as np

from sonde.analyze.extents import Extents
from sonde.analyze.operations import NO_ROW, Operations, Profile
from sonde.records.arrays import IntArray

_NO_PHASE = ""


def module_shares(
    profiles: Iterable[Profile], phases: Iterable[str]
) -> dict[str, Mapping[str, float]]:
    """Return, per phase, the share of its time spent in each module, largest first.

    Time outside modules is not included, so shares may add up to less than 1.
    """
    requested = tuple(phases)
    spent: dict[str, dict[str, float]] = {name: {} for name in requested}
    total = dict.fromkeys(requested, 0.0)
    for profile in profiles:
        window = Extents.single(profile.start_ns, profile.end_ns)
        for name in requested:
            total[name] += (profile.phases.extents(name) & window).total_ns
        for (phase, module), own_ns in _own_times(profile).items():
            if phase in spent:
                spent[phase][module] = spent[phase].get(module, 0.0) + own_ns
    return {
        phase: {
            module: own_ns / total[phase]
            for module, own_ns in sorted(
                results.items(), key=lambda result: (-result[1], result[0])
            )
        }
        for phase, results in spent.items()
        if results and total[phase]
    }


def _own_times(profile: Profile) -> dict[tuple[str, str], float]:
    """Return the host's self time by phase and module."""
    operations = profile.operations
    rows = np.flatnonzero(operations.is_work & operations.modules.where(bool))
    at = profile.phases.at(operations.starts_ns[rows], _NO_PHASE)
    own_ns = _self_ns(operations)[rows]
    modules = operations.modules.numbers[rows]
    result: dict[tuple[str, str], float] = {}
    pairs = at.numbers * len(operations.modules.distinct) + modules
    for number in np.unique(pairs).tolist():
        phase, module = divmod(number, len(operations.modules.distinct))
        key = (at.distinct[phase], operations.modules.distinct[module])
        result[key] = float(own_ns[pairs == number].sum())
    return result


def _self_ns(operations: Operations) -> IntArray:
    """Return the duration of each operation without nested operations."""
    nesting = operations.nesting
    durations_ns = nesting.ends_ns - operations.starts_ns
    own_ns = durations_ns.copy()
    inner = np.flatnonzero(operations.is_work & (nesting.parents != NO_ROW))
    np.subtract.at(own_ns, nesting.parents[inner], durations_ns[inner])
    return own_ns
