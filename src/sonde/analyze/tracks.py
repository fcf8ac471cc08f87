"""Slices that overlap without lying in each other, put side by side."""

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


def side_by_side(starts_ns: Numbers, ends_ns: Numbers) -> Numbers:
    """The row that each slice goes into, from 0: in a row slices lie in each other, or apart.

    Args:
        starts_ns: In order; of those that begin together the longest first.
        ends_ns: When they end.
    """
    rows: list[list[int]] = []  # per row the ends of what is open there, the outermost first
    found = np.zeros(len(starts_ns), dtype=np.int64)
    for place, (start, end) in enumerate(zip(starts_ns.tolist(), ends_ns.tolist(), strict=True)):
        for number, open_ends in enumerate(rows):
            while open_ends and open_ends[-1] <= start:
                open_ends.pop()
            if not open_ends or end <= open_ends[-1]:
                open_ends.append(end)
                found[place] = number
                break
        else:
            found[place] = len(rows)
            rows.append([end])
    return found
