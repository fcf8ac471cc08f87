"""Samples that come again in an evaluation, and the order in which batches come."""

import json
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from sonde.hook.torch.tensors.row_samples import join_samples, sample_rows
from tests.fakes.session import Recorded, watched

SIZE = 8
DATA = torch.arange(160 * 3, dtype=torch.float32).reshape(160, 3).sin()
NEEDED = ("samples-again", "batch-means")
OTHER = torch.arange(64 * 3, dtype=torch.float32).reshape(64, 3).cos()


def parts(data: Tensor) -> list[Tensor]:
    return [data[start : start + SIZE] for start in range(0, len(data), SIZE)]


class Script:
    """Epochs of training with an evaluation after each."""

    def __init__(self) -> None:
        self.model = nn.Linear(3, 1)
        self.begin()

    def begin(self) -> None:
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3)

    def train(self, data: Tensor, labels: Tensor | None = None) -> None:
        self.model.train()
        wanted = data[:, :1] if labels is None else labels
        for batch, own in zip(parts(data), parts(wanted), strict=True):
            loss: Any = functional.mse_loss(self.model(batch), own.reshape(-1, 1))
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    @torch.no_grad()
    def evaluate(self, *sets: Tensor) -> None:
        self.model.eval()
        for data in sets:
            for batch in parts(data):
                self.model(batch.clone())


def told(recorded: Recorded, kind: str = "samples-again") -> list[dict[str, Any]]:
    return [json.loads(row["detail"]) for row in recorded.observations(kind)]


def shuffled(data: Tensor, seed: int) -> Tensor:
    order = np.random.default_rng(seed).permutation(len(data))
    return data[torch.from_numpy(order)]


@pytest.mark.parametrize("closely", [True, False])
def test_evaluated_training_samples_are_recognized_in_any_order(closely: bool) -> None:
    with watched(closely=closely, needed=NEEDED) as recorded:
        script = Script()
        for epoch in range(3):
            script.train(shuffled(DATA, epoch))
            script.evaluate(shuffled(DATA[:64], 10 + epoch))

    found = told(recorded)
    assert [(one["samples"], one["repeated"], one["pairs"]) for one in found] == [(64, 0, 224)] * 3
    assert [one["known"] for one in found] == [64] * 3
    assert [(one["rows"], one["again"]) for one in found] == [(160, 0), (160, 160), (160, 160)]


@pytest.mark.parametrize("closely", [True, False])
def test_new_samples_are_not_recognized(closely: bool) -> None:
    with watched(closely=closely, needed=NEEDED) as recorded:
        script = Script()
        for epoch in range(2):
            script.train(shuffled(DATA, epoch))
            script.evaluate(OTHER)

    assert [(one["samples"], one["known"]) for one in told(recorded)] == [(64, 0), (64, 0)]


def test_batches_that_mix_known_and_new_samples_are_counted() -> None:
    mixed = torch.cat([DATA[:32], OTHER[:32]])[torch.arange(64).reshape(2, 32).t().reshape(-1)]
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA[:32], OTHER[:32])
        script.train(DATA)
        script.evaluate(mixed)

    apart, together = told(recorded)
    assert (apart["known"], apart["mixed"]) == (32, 0)
    assert (together["known"], together["mixed"]) == (32, 8 * 16)


def test_duplicate_samples_are_counted_but_second_passes_are_not() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(OTHER, OTHER)
        script.train(DATA)
        script.evaluate(torch.cat([OTHER, OTHER[:10]]))

    assert [one["repeated"] for one in told(recorded)] == [0, 10]


def test_a_validation_set_may_be_one_large_batch() -> None:
    data = torch.arange(900, dtype=torch.float32).reshape(300, 3).sin()
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(data)
        script.model.eval()
        with torch.no_grad():
            script.model(data[:200])

    assert [(one["samples"], one["known"]) for one in told(recorded)] == [(200, 200)]


def test_a_few_batches_do_not_count_as_an_evaluation() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA[:24])
        script.begin()
        for _ in range(9):
            script.train(DATA[:24])
        script.evaluate(DATA)

    assert told(recorded) == []


def test_a_batch_evaluated_right_after_its_step_is_not_an_evaluation() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        for batch in parts(DATA):
            script.train(batch)
            for _ in range(5):
                script.evaluate(batch)

    assert told(recorded) == []


def test_samples_are_forgotten_when_another_optimizer_begins() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA[:80])
        script.begin()
        script.train(DATA[80:])
        script.evaluate(DATA[:80])

    assert [one["known"] for one in told(recorded)] == [0]


def test_a_sample_consists_of_all_model_inputs() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(200, 4)

        def forward(self, users: Tensor, items: Tensor) -> Tensor:
            found: Tensor = (self.table(users) * self.table(items)).sum(1)
            return found

    users = torch.arange(160)
    with watched(needed=NEEDED) as recorded:
        model = Pair()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for batch in parts(users):
            model(batch, items=batch).sum().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch in parts(users):
                model(batch, items=199 - batch)

    assert [one["known"] for one in told(recorded)] == [0]


def means(recorded: Recorded, subject: str) -> list[dict[str, Any]]:
    rows = recorded.observations("batch-means")
    return [json.loads(row["detail"]) for row in rows if row["subject"] == subject]


@pytest.mark.parametrize("closely", [True, False])
def test_means_of_labels_and_inputs_are_recorded_in_order(closely: bool) -> None:
    labels = (torch.arange(160) % 2).float() + (torch.arange(160) >= 80) * 3
    with watched(closely=closely, needed=NEEDED) as recorded:
        Script().train(DATA, labels)

    [found] = means(recorded, "labels")
    unit = labels[:SIZE].std().item()
    assert found["size"] == SIZE
    assert found["within"] == pytest.approx(1.0)
    assert np.diff(found["means"]).nonzero()[0].tolist() == [9]
    assert max(found["means"]) - min(found["means"]) == pytest.approx(3 / unit, abs=2e-3)
    assert found["rough"] == pytest.approx(1.75)
    [inputs] = means(recorded, "input")
    assert len(inputs["means"]) == 20


def test_means_are_recorded_for_the_first_batches_only() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        for _ in range(110):
            script.train(DATA)

    assert sum(len(one["means"]) for one in means(recorded, "labels")) == 1000


def test_inputs_are_not_sampled_if_no_rule_needs_them() -> None:
    with watched() as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA)

    assert told(recorded) == [] == means(recorded, "labels")


@pytest.mark.parametrize(
    ("tensor", "wanted"),
    [
        (torch.arange(6.0).reshape(2, 3), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        (torch.arange(6.0).reshape(2, 3).t(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
        (torch.arange(4)[::2], [[0], [2]]),
        (torch.arange(64).reshape(2, 32), [list(range(1, 32, 2)), list(range(33, 64, 2))]),
        (torch.arange(8, dtype=torch.uint8).reshape(2, 2, 2), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ],
)
def test_rows_are_sampled_from_any_memory_layout(tensor: Tensor, wanted: list[list[float]]) -> None:
    rows = sample_rows(tensor)
    assert rows is not None
    assert join_samples([rows]).tolist() == wanted


OTHERS = [
    torch.tensor(1.0),
    torch.empty(0, 3),
    torch.ones(2, 3, requires_grad=True),
    torch.ones(2, 3, device="meta"),
    torch.ones(2, 3, 4).transpose(0, 2),
    torch.ones(2, 3, dtype=torch.complex64),
    nn.Parameter(torch.ones(2, 3)),
    torch.eye(3).to_sparse(),
    torch.ones(2, 3).to_sparse(),
    torch.ones(2, 3).to_mkldnn(),
    torch._efficientzerotensor((2, 3)),  # it has no memory: to read it would end the process
]


@pytest.mark.parametrize("tensor", OTHERS)
def test_tensors_that_cannot_be_sampled_are_skipped(tensor: Tensor) -> None:
    assert sample_rows(tensor) is None
