"""Each evaluation is one named result: the mean over its samples, at its training step."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from sonde.hook.torch.loop import deferral_policy, deferred_hooks
from tests.fakes.session import Recorded, watched

functional: Any = torch.nn.functional


@pytest.fixture(autouse=True, params=[True, False], ids=["inspected", "deferred"])
def closely(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Inspected and deferred steps give the same results."""
    monkeypatch.setattr(deferred_hooks, "_MAX_DELAY_NS", 10**15)
    monkeypatch.setattr(deferral_policy, "_INSPECTION_INTERVAL_SECONDS", 1000.0)
    return bool(request.param)


def data(size: int) -> TensorDataset:
    points = torch.randn(size, 4)
    return TensorDataset(points, (points[:, 0] > 0).long())


def classifier() -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))


class Script:
    """A plain training loop with a data loader."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.model: Any = classifier()
        self.train_set, self.val_set = data(40), data(20)
        self.train_loader = DataLoader(self.train_set, batch_size=8, shuffle=True)
        self.val_loader = DataLoader(self.val_set, batch_size=8)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def epoch(self) -> None:
        self.model.train()
        for points, labels in self.train_loader:
            self.optimizer.zero_grad()
            functional.cross_entropy(self.model(points), labels).backward()
            self.optimizer.step()

    def evaluate(self, loader: Iterable[Any], model: Any = None) -> float:
        """Return the mean loss over all samples, as scripts compute it."""
        model = model or self.model
        model.eval()
        total = count = 0.0
        with torch.no_grad():
            for points, labels in loader:
                total += functional.cross_entropy(model(points), labels).item() * len(points)
                count += len(points)
        return total / count


def recorded_of(run: Callable[[Script], None], closely: bool) -> list[dict[str, Any]]:
    with watched(closely=closely) as recorded:
        run(Script())
    return evaluations_of(recorded)


def evaluations_of(recorded: Recorded) -> list[dict[str, Any]]:
    return [
        {"name": row["subject"], "step": row["step"], "loss": row["value"]}
        | json.loads(row["detail"])
        for row in recorded.observations("evaluation")
    ]


def summary(evaluations: list[dict[str, Any]]) -> list[tuple[str, int, int, Any]]:
    return [
        (
            evaluation["name"],
            evaluation["step"],
            evaluation["samples"],
            pytest.approx(evaluation["loss"], rel=1e-6),
        )
        for evaluation in evaluations
    ]


def test_an_evaluation_loss_is_weighted_by_batch_size(
    closely: bool,
) -> None:
    results = []

    def run(script: Script) -> None:
        for _ in range(3):
            script.epoch()
            results.append(script.evaluate(script.val_loader))

    recorded = recorded_of(run, closely)

    assert summary(recorded) == [
        ("validation", 5, 20, results[0]),
        ("validation", 10, 20, results[1]),
        ("validation", 15, 20, results[2]),
    ]
    assert recorded[0]["data"].startswith("loader at test_evaluations.py:")
    assert [result["eval_steps"] for result in recorded] == [[0, 2], [3, 5], [6, 8]]


def test_both_splits_evaluated_by_one_function_are_two_series(closely: bool) -> None:
    results = []

    def run(script: Script) -> None:
        for _ in range(2):
            script.epoch()
            results.append(script.evaluate(DataLoader(script.train_set, batch_size=16)))
            results.append(script.evaluate(script.val_loader))

    recorded = recorded_of(run, closely)

    assert summary(recorded) == [
        ("train (evaluated)", 5, 40, results[0]),
        ("validation", 5, 20, results[1]),
        ("train (evaluated)", 10, 40, results[2]),
        ("validation", 10, 20, results[3]),
    ]
    assert [result.get("is_training_data", False) for result in recorded] == [True, False] * 2


def test_one_data_set_evaluated_in_two_phases_of_training_is_one_series(closely: bool) -> None:
    def phase(script: Script) -> None:
        script.epoch()
        script.evaluate(script.val_loader)

    def run(script: Script) -> None:
        phase(script)
        phase(script)  # from another line

    results = recorded_of(run, closely)
    assert [(result["name"], result["step"]) for result in results] == [
        ("validation", 5),
        ("validation", 10),
    ]


def test_an_epoch_function_called_from_several_lines_evaluates_one_series(closely: bool) -> None:
    points = torch.randn(12, 4)
    labels = (points[:, 0] > 0).long()

    def epoch(script: Script) -> None:
        script.epoch()
        with torch.no_grad():
            for inputs, targets in script.val_loader:
                functional.cross_entropy(script.model(inputs), targets)
            functional.cross_entropy(script.model(points), labels)

    def run(script: Script) -> None:
        epoch(script)
        epoch(script)
        epoch(script)

    results = recorded_of(run, closely)
    assert [(result["name"], result["step"], result["samples"]) for result in results] == [
        *(("validation", 5, 20), ("evaluation", 5, 12)),
        *(("validation", 10, 20), ("evaluation", 10, 12)),
        *(("validation", 15, 20), ("evaluation", 15, 12)),
    ]


def test_an_epoch_function_that_trains_another_model_starts_a_series(closely: bool) -> None:
    points = torch.randn(12, 4)
    labels = (points[:, 0] > 0).long()

    def epoch(script: Script) -> None:
        script.epoch()
        with torch.no_grad():
            functional.cross_entropy(script.model(points), labels)

    def run(script: Script) -> None:
        epoch(script)
        second = Script()
        epoch(second)

    results = recorded_of(run, closely)
    assert [result["name"] for result in results] == ["evaluation", "evaluation 2"]


def test_a_rerun_notebook_cell_continues_its_series(closely: bool) -> None:
    cell = (
        "script.epoch()\nwith torch.no_grad():\n"
        "    cross_entropy(script.model(points), labels)\nscript.evaluate(script.val_loader)\n"
    )
    points = torch.randn(12, 4)
    space = {"points": points, "labels": (points[:, 0] > 0).long(), "torch": torch}

    def run(script: Script) -> None:
        for _ in range(2):
            code = compile(cell, "/tmp/ipykernel_1/12345.py", "exec")
            exec(code, space | {"script": script, "cross_entropy": functional.cross_entropy})

    results = recorded_of(run, closely)
    assert [result["name"] for result in results] == ["evaluation", "evaluation 2"] * 2


def test_one_data_set_evaluated_twice_between_steps_gives_two_series(closely: bool) -> None:
    def check(script: Script) -> None:
        script.evaluate(script.val_loader)

    def run(script: Script) -> None:
        for _ in range(2):
            script.epoch()
            check(script)
            check(script)  # with adversarial inputs, for example

    names = [result["name"] for result in recorded_of(run, closely)]
    assert names == ["validation", "validation 2"] * 2


def test_one_loop_over_several_loaders_gives_a_series_for_each(closely: bool) -> None:
    def run(script: Script) -> None:
        loaders = [DataLoader(data(size), batch_size=8) for size in (24, 32)]
        for _ in range(2):
            script.epoch()
            for loader in loaders:
                script.evaluate(loader)

    results = recorded_of(run, closely)

    assert [(result["name"], result["samples"]) for result in results] == [
        ("evaluation", 24),
        ("evaluation 2", 32),
    ] * 2


def test_a_data_set_rebuilt_for_each_evaluation_stays_one_series(
    closely: bool,
) -> None:
    def run(script: Script) -> None:
        for _ in range(3):
            script.epoch()
            script.evaluate(DataLoader(data(16), batch_size=8))

    assert [result["name"] for result in recorded_of(run, closely)] == ["evaluation"] * 3


def test_a_rebuilt_data_set_stays_one_series_while_the_old_one_exists(
    closely: bool,
) -> None:
    """Trainers that remove unused columns keep every copy in a reference cycle for a while."""
    alive = []

    def run(script: Script) -> None:
        for _ in range(3):
            script.epoch()
            for size in (20, 12):
                alive.append(data(size))
                script.evaluate(DataLoader(alive[-1], batch_size=8))

    results = [(result["name"], result["samples"]) for result in recorded_of(run, closely)]
    assert results == 3 * [("evaluation", 20), ("evaluation 2", 12)]


def test_evaluations_without_a_loader_are_distinguished_by_call_site(closely: bool) -> None:
    results = []

    def run(script: Script) -> None:
        x_val, y_val = script.val_set.tensors
        x_train, y_train = script.train_set.tensors
        for _ in range(2):
            script.epoch()
            script.model.eval()
            with torch.no_grad():
                results.append(functional.cross_entropy(script.model(x_train), y_train).item())
                results.append(functional.cross_entropy(script.model(x_val), y_val).item())

    recorded = recorded_of(run, closely)

    assert summary(recorded) == [
        ("train (evaluated)", 5, 40, results[0]),
        ("validation", 5, 20, results[1]),
        ("train (evaluated)", 10, 40, results[2]),
        ("validation", 10, 20, results[3]),
    ]
    assert recorded[1]["data"].startswith("call at test_evaluations.py:")


def test_losses_summed_over_a_batch_become_means(closely: bool) -> None:
    results = []

    def run(script: Script) -> None:
        for _ in range(2):
            script.epoch()
            script.model.eval()
            total = 0.0
            with torch.no_grad():
                for points, labels in script.val_loader:
                    total += functional.cross_entropy(
                        script.model(points), labels, reduction="sum"
                    ).item()
            results.append(total / 20)

    assert [result[3] for result in summary(recorded_of(run, closely))] == results


def test_the_last_batch_of_a_prefetching_loader_is_counted(closely: bool) -> None:
    def prefetched(loader: Iterable[Any]) -> Iterator[Any]:
        iterator = iter(loader)
        current = next(iterator)
        for following in iterator:
            yield current
            current = following
        yield current

    def run(script: Script) -> None:
        for _ in range(2):
            script.epoch()
            script.evaluate(prefetched(script.val_loader))

    assert [result["samples"] for result in recorded_of(run, closely)] == [20, 20]


def test_an_evaluation_that_runs_twice_in_a_row_is_two_results(closely: bool) -> None:
    def run(script: Script) -> None:
        script.epoch()
        for _ in range(2):
            script.evaluate(script.val_loader)
        script.epoch()

    results = recorded_of(run, closely)

    assert [(result["name"], result["samples"]) for result in results] == [("validation", 20)] * 2
