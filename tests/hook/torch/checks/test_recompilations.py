"""Functions that `torch.compile` compiles again are recorded with the guard that failed."""

import json

import torch
from torch import nn

from tests.fakes.session import watched


def test_a_recompilation_is_recorded_with_its_guard() -> None:
    model = nn.Linear(4, 1)
    compiled = torch.compile(model, backend="eager", dynamic=False)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with watched() as recorded:
        for rows in (2, 2, 3, 2, 5):
            optimizer.zero_grad()
            compiled(torch.randn(rows, 4)).sum().backward()
            optimizer.step()
    observations = recorded.observations("recompilation")
    assert [row["step"] for row in observations] == [2, 4]
    assert all(row["value"] > 0 for row in observations)
    facts = json.loads(observations[0]["detail"])
    assert "size mismatch at index 0. expected 2, actual 3" in facts["reason"]
    assert ".py:" in facts["line"]


def test_a_script_without_a_compiler_records_nothing() -> None:
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    with watched() as recorded:
        model(torch.randn(2, 4)).sum().backward()
        optimizer.step()
    assert not recorded.observations("recompilation")
