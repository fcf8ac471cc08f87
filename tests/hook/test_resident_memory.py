"""Resident memory in the first seconds of training."""

from itertools import pairwise

import torch
from torch import nn

from sonde.clock import NANOSECONDS
from tests.fakes.session import Recorded, watched


def train(*needed: str) -> Recorded:
    with watched(needed=needed) as recorded:
        model = nn.Linear(4, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        for _ in range(60):
            optimizer.zero_grad()
            model(torch.ones(8, 4)).mean().backward()
            optimizer.step()
    return recorded


def test_memory_is_recorded_up_to_20_times_per_second() -> None:
    rows = train("resident-memory").observations("resident-memory")
    times_ns = [row["time_ns"] for row in rows]
    gaps_ns = [later - earlier for earlier, later in pairwise(times_ns)]
    assert rows
    assert all(row["value"] > 1e6 for row in rows)
    assert min(gaps_ns, default=NANOSECONDS) >= NANOSECONDS // 20


def test_memory_is_not_recorded_if_no_rule_needs_it() -> None:
    assert train().observations("resident-memory") == []
