"""Whose time it is: every instant belongs to one stretch, the one that began last.

A collective inside a backward pass is the collective's time, not the backward pass's; so the
shares of all stretches add up to the time that any of them covers, whatever lies inside what.
"""

import numpy as np

from sonde.read.workers import Numbers
from sonde.records.ranges import EVER, TimeRange

_NOBODY = -1


def own_time_ns(starts_ns: Numbers, ends_ns: Numbers, within: TimeRange = EVER) -> Numbers:
    """How much of each stretch is its own: not covered by one that began later.

    Of two that begin together the shorter one lies inside the other; of two that are the same the
    last one counts. Of what lies outside of a range nothing counts, but when it began does.
    """
    own = np.zeros(len(starts_ns), dtype=np.int64)
    if not len(starts_ns):
        return own
    in_turn = np.argsort(starts_ns, kind="stable")
    if (ends_ns[in_turn[:-1]] <= starts_ns[in_turn[1:]]).all():  # nothing lies in anything else
        return _inside(ends_ns, within) - _inside(starts_ns, within)
    edges = np.sort(np.concatenate([starts_ns, ends_ns]))
    edges = edges[np.append(edges[1:] != edges[:-1], True)]
    firsts, lasts = np.searchsorted(edges, starts_ns), np.searchsorted(edges, ends_ns)
    owners = np.full(len(edges), _NOBODY, dtype=np.int64)
    order = np.lexsort((-lasts, firsts))
    # what holds edges of others is painted in turn; the rest lies above, and cannot be overlaid
    for stretch in order[(lasts - firsts > 1)[order]].tolist():
        owners[firsts[stretch] : lasts[stretch]] = stretch
    plain = order[(lasts - firsts == 1)[order]]
    owners[firsts[plain]] = plain
    owned = np.flatnonzero(owners[:-1] != _NOBODY)
    np.add.at(own, owners[owned], np.diff(_inside(edges, within))[owned])
    return own


def _inside(instants_ns: Numbers, within: TimeRange) -> Numbers:
    """Instants moved into a range; what lies outside has no length any more."""
    if within == EVER:
        return instants_ns
    return np.asarray(np.clip(instants_ns, within.start_ns, within.end_ns))
