"""If requested, optimizers do not step on non-finite gradients."""

import copy
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from sonde.errors import RefusedStepError
from sonde.hook import stopping
from sonde.records.request import Request, RequestKind
from sonde.store import layout
from sonde.store.backends import open_backend
from sonde.store.facts import decode_facts
from tests.fakes.session import watched

STOP = {"stop_on_non_finite": True}


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the reply of a launcher, since there is none."""
    monkeypatch.setattr(stopping, "_REPLY_SECONDS", 0.0)


def refused(step: Callable[[], Any]) -> str:
    """Return the reason for a refused step, which `except Exception` must not catch."""
    try:
        with pytest.raises(RefusedStepError) as caught:
            step()
    except Exception as error:
        raise AssertionError("`except Exception` caught the refusal") from error
    return caught.value.reason


class Loop:
    """A training loop that can make gradients non-finite."""

    def __init__(self) -> None:
        self.network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))
        self.weight = self.network.get_parameter("1.weight")
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.1)

    def step(self, bad: float = 0.0) -> None:
        self.optimizer.zero_grad()
        self.network(torch.randn(4, 3)).sum().backward()
        assert self.weight.grad is not None
        self.weight.grad[0, 2] += bad
        self.optimizer.step()


def test_steps_are_not_refused_by_default() -> None:
    with watched() as recorded:
        loop = Loop()
        loop.step(math.nan)
        assert loop.weight.isnan().any()
    assert recorded.observations("refused-step") == []


def test_finite_gradients_are_not_refused() -> None:
    with watched(**STOP) as recorded:
        loop = Loop()
        loop.step()
        loop.step()
    assert recorded.session.steps.counts["train"] == 2


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_the_weights_are_unchanged_and_the_process_ends(bad: float) -> None:
    with watched(**STOP):
        loop = Loop()
        loop.step()
        before = copy.deepcopy(loop.network.state_dict())
        reason = refused(lambda: loop.step(bad))
        after = loop.network.state_dict()
    assert reason == "non-finite gradients in 1.weight at step 1"
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_gradients_whose_norm_is_too_large_for_their_type_are_not_refused() -> None:
    with watched(**STOP) as recorded:
        weight = nn.Parameter(torch.ones(4))
        half = nn.Parameter(torch.ones(4, dtype=torch.float16))
        optimizer = torch.optim.SGD([weight, half], lr=0.0)
        for _ in range(2):
            weight.grad = torch.full((4,), 1e30)
            half.grad = torch.full((4,), 6e4, dtype=torch.float16)
            optimizer.step()
    assert recorded.session.steps.counts["train"] == 2


@pytest.mark.parametrize(
    "kind", [torch.float64, torch.bfloat16, torch.float16, torch.complex64], ids=str
)
def test_gradients_of_every_kind_are_checked(kind: torch.dtype) -> None:
    with watched(**STOP):
        weight, second = nn.Parameter(torch.ones(4, dtype=kind)), nn.Parameter(torch.ones(2))
        weight.grad, second.grad = torch.full((4,), math.inf, dtype=kind), torch.zeros(2)
        optimizer = torch.optim.SGD([second, weight], lr=0.0)
        assert "optimizer_0.group_0.1" in refused(optimizer.step)


def test_sparse_gradients_are_checked() -> None:
    with watched(**STOP):
        words = nn.Embedding(5, 2, sparse=True)
        (words(torch.tensor([1, 1, 3])).sum() * math.nan).backward()
        optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
        assert "in weight at" in refused(optimizer.step)


def test_steps_that_a_gradient_scaler_skips_are_not_refused() -> None:
    with watched(**STOP) as recorded:
        weight = nn.Parameter(torch.ones(4))
        scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
        for optimizer in (
            torch.optim.SGD([weight], lr=0.1),
            torch.optim.SGD([weight], lr=0.1, fused=True),
        ):
            for factor in (1.0, math.inf, 1.0):
                optimizer.zero_grad()
                loss: Any = scaler.scale((weight * factor).sum())
                loss.backward()
                scaler.step(optimizer)
                scaler.update()
    assert bool(torch.isfinite(weight).all())
    assert recorded.observations("refused-step") == []


@pytest.mark.parametrize(
    ("stop_rule", "stopped_by"), [("", "stop_on_non_finite"), ("NoNan", "NoNan")]
)
def test_a_refusal_is_recorded_with_its_origin_and_stops_the_job(
    stop_rule: str, stopped_by: str
) -> None:
    with watched(**STOP, stop_rule=stop_rule) as recorded:
        network = nn.Linear(3, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for factor in (1.0, 1.0, math.nan):
            network.zero_grad()
            batch = torch.ones(2, 3) * factor
            network(batch).sum().backward()
            if factor == 1.0:
                optimizer.step()
        refused(optimizer.step)
    (row,) = recorded.observations("refused-step")
    assert (row["subject"], row["step"], row["value"]) == ("weight", 2, 1.0)
    (origin,) = recorded.observations("first-non-finite")
    assert origin["subject"] == "input 0"
    assert json.loads(origin["detail"])["in"] == "input"
    uri = recorded.session.store.worker.job_uri
    assert uri is not None
    backend = open_backend(uri)
    (entry,) = backend.entries(layout.REQUESTS)
    request = decode_facts(Request, backend.read(entry.key), entry.key)
    assert request.kind is RequestKind.STOP
    assert request.arguments["by"] == f"{stopped_by}: non-finite gradients in weight at step 2"
    assert request.arguments["from_worker"] == "0"
