"""Training samples reused in an evaluation, and the order of batches."""

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
UNSEEN = torch.arange(64 * 3, dtype=torch.float32).reshape(64, 3).cos()


def split(data: Tensor) -> list[Tensor]:
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
        targets = data[:, :1] if labels is None else labels
        for batch, target in zip(split(data), split(targets), strict=True):
            loss: Any = functional.mse_loss(self.model(batch), target.reshape(-1, 1))
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()

    @torch.no_grad()
    def evaluate(self, *sets: Tensor) -> None:
        self.model.eval()
        for data in sets:
            for batch in split(data):
                self.model(batch.clone())


def details(recorded: Recorded, kind: str = "samples-again") -> list[dict[str, Any]]:
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

    evaluations = details(recorded)
    assert [
        (evaluation["samples"], evaluation["repeated"], evaluation["pairs"])
        for evaluation in evaluations
    ] == [(64, 0, 224)] * 3
    assert [evaluation["known"] for evaluation in evaluations] == [64] * 3
    assert [(evaluation["rows"], evaluation["again"]) for evaluation in evaluations] == [
        (160, 0),
        (160, 160),
        (160, 160),
    ]


@pytest.mark.parametrize("closely", [True, False])
def test_new_samples_are_not_recognized(closely: bool) -> None:
    with watched(closely=closely, needed=NEEDED) as recorded:
        script = Script()
        for epoch in range(2):
            script.train(shuffled(DATA, epoch))
            script.evaluate(UNSEEN)

    assert [(evaluation["samples"], evaluation["known"]) for evaluation in details(recorded)] == [
        (64, 0),
        (64, 0),
    ]


def test_batches_that_mix_known_and_new_samples_are_counted() -> None:
    mixed = torch.cat([DATA[:32], UNSEEN[:32]])[torch.arange(64).reshape(2, 32).t().reshape(-1)]
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA[:32], UNSEEN[:32])
        script.train(DATA)
        script.evaluate(mixed)

    separate, mixed_batches = details(recorded)
    assert (separate["known"], separate["mixed"]) == (32, 0)
    assert (mixed_batches["known"], mixed_batches["mixed"]) == (32, 8 * 16)


def test_duplicate_samples_are_counted_but_second_passes_are_not() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(UNSEEN, UNSEEN)
        script.train(DATA)
        script.evaluate(torch.cat([UNSEEN, UNSEEN[:10]]))

    assert [evaluation["repeated"] for evaluation in details(recorded)] == [0, 10]


def test_a_validation_set_may_be_one_large_batch() -> None:
    data = torch.arange(900, dtype=torch.float32).reshape(300, 3).sin()
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(data)
        script.model.eval()
        with torch.no_grad():
            script.model(data[:200])

    assert [(evaluation["samples"], evaluation["known"]) for evaluation in details(recorded)] == [
        (200, 200)
    ]


def test_a_few_batches_do_not_count_as_an_evaluation() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA[:24])
        script.begin()
        for _ in range(9):
            script.train(DATA[:24])
        script.evaluate(DATA)

    assert details(recorded) == []


def test_a_batch_evaluated_right_after_its_step_is_not_an_evaluation() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        for batch in split(DATA):
            script.train(batch)
            for _ in range(5):
                script.evaluate(batch)

    assert details(recorded) == []


def test_samples_are_forgotten_when_another_optimizer_begins() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        script.train(DATA[:80])
        script.begin()
        script.train(DATA[80:])
        script.evaluate(DATA[:80])

    assert [evaluation["known"] for evaluation in details(recorded)] == [0]


def test_a_sample_consists_of_all_model_inputs() -> None:
    class Pair(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Embedding(200, 4)

        def forward(self, users: Tensor, items: Tensor) -> Tensor:
            scores: Tensor = (self.table(users) * self.table(items)).sum(1)
            return scores

    users = torch.arange(160)
    with watched(needed=NEEDED) as recorded:
        model = Pair()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
        for batch in split(users):
            model(batch, items=batch).sum().backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            for batch in split(users):
                model(batch, items=199 - batch)

    assert [evaluation["known"] for evaluation in details(recorded)] == [0]


def means(recorded: Recorded, subject: str) -> list[dict[str, Any]]:
    rows = recorded.observations("batch-means")
    return [json.loads(row["detail"]) for row in rows if row["subject"] == subject]


@pytest.mark.parametrize("closely", [True, False])
def test_means_of_labels_and_inputs_are_recorded_in_order(closely: bool) -> None:
    labels = (torch.arange(160) % 2).float() + (torch.arange(160) >= 80) * 3
    with watched(closely=closely, needed=NEEDED) as recorded:
        Script().train(DATA, labels)

    [label_means] = means(recorded, "labels")
    unit = labels[:SIZE].std().item()
    assert label_means["size"] == SIZE
    assert label_means["within"] == pytest.approx(1.0)
    assert np.diff(label_means["means"]).nonzero()[0].tolist() == [9]
    assert max(label_means["means"]) - min(label_means["means"]) == pytest.approx(
        3 / unit, abs=2e-3
    )
    assert label_means["rough"] == pytest.approx(1.75)
    [inputs] = means(recorded, "input")
    assert len(inputs["means"]) == 20


def test_means_are_recorded_for_the_first_batches_only() -> None:
    with watched(needed=NEEDED) as recorded:
        script = Script()
        for _ in range(110):
            script.train(DATA)

    assert sum(len(row["means"]) for row in means(recorded, "labels")) == 1000


def test_inputs_are_not_sampled_if_no_rule_needs_them() -> None:
    with watched() as recorded:
        script = Script()
        script.train(DATA)
        script.evaluate(DATA)

    assert details(recorded) == [] == means(recorded, "labels")


@pytest.mark.parametrize(
    ("tensor", "expected"),
    [
        (torch.arange(6.0).reshape(2, 3), [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]),
        (torch.arange(6.0).reshape(2, 3).t(), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
        (torch.arange(4)[::2], [[0], [2]]),
        (torch.arange(64).reshape(2, 32), [list(range(1, 32, 2)), list(range(33, 64, 2))]),
        (torch.arange(8, dtype=torch.uint8).reshape(2, 2, 2), [[0, 1, 2, 3], [4, 5, 6, 7]]),
    ],
)
def test_rows_are_sampled_from_any_memory_layout(
    tensor: Tensor, expected: list[list[float]]
) -> None:
    rows = sample_rows(tensor)
    assert rows is not None
    assert join_samples([rows]).tolist() == expected


UNSUPPORTED = [
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
    torch._efficientzerotensor((2, 3)),  # it has no memory; reading it would crash the process
]


@pytest.mark.parametrize("tensor", UNSUPPORTED)
def test_tensors_that_cannot_be_sampled_are_skipped(tensor: Tensor) -> None:
    assert sample_rows(tensor) is None
