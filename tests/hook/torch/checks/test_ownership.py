"""Parameters that do not learn are recorded, unless that is intended."""

import copy
from typing import Any

import pytest
import torch
from torch import nn

from sonde.records.observations.parameters import LayerUse, MissingGradient, UnmovedParameter
from tests.fakes.session import Recorded, watched

PLENTY = {"overhead_percent": 100.0}


def train(network: nn.Module, optimizer: torch.optim.Optimizer, steps: int = 30) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        network(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()


def subjects(recorded: Recorded, kind: str) -> dict[str, tuple[float, str]]:
    rows = recorded.observations(kind)
    assert len({row["subject"] for row in rows}) == len(rows), "recorded more than once"
    return {row["subject"]: (row["value"], row["detail"]) for row in rows}


def missing_gradients(recorded: Recorded) -> dict[str, MissingGradient]:
    observed = subjects(recorded, "no-gradient")
    return {name: MissingGradient.decode(detail) for name, (_, detail) in observed.items()}


def has_no_observations(recorded: Recorded) -> bool:
    kinds = ("unowned-parameter", "no-gradient", "unmoved-parameter")
    return not any(recorded.observations(kind) for kind in kinds)


def test_a_healthy_training_records_nothing() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))
        train(network, torch.optim.AdamW(network.parameters(), lr=1e-3))
    assert has_no_observations(recorded)


def test_a_head_replaced_after_the_optimizer_was_created_is_unowned() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        network[1] = nn.Linear(4, 2)
        train(network, optimizer)
    assert subjects(recorded, "unowned-parameter") == {"1.weight": (1.0, ""), "1.bias": (1.0, "")}
    assert recorded.observations("no-gradient") == []


def test_a_layer_that_was_forgotten_is_unowned_and_was_not_replaced() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        train(network, torch.optim.SGD(network[0].parameters(), lr=0.001))
    assert subjects(recorded, "unowned-parameter") == {"1.weight": (0.0, ""), "1.bias": (0.0, "")}


def test_parameters_that_the_script_updates_are_not_unowned() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(network[0].parameters(), lr=0.001)
        for _ in range(30):
            network.zero_grad()
            network(torch.randn(4, 3)).square().sum().backward()
            optimizer.step()
            with torch.no_grad():
                for parameter in network[1].parameters():
                    assert parameter.grad is not None
                    parameter.data -= 0.001 * parameter.grad
    assert has_no_observations(recorded)


def test_a_frozen_layer_records_nothing() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        network[0].requires_grad_(False)
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    assert has_no_observations(recorded)


def test_a_zero_learning_rate_is_recorded_in_a_short_job_with_a_tiny_budget() -> None:
    with watched(overhead_percent=0.01) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        rates = zip(network, (0.0, 0.001), strict=True)
        groups = [{"params": layer.parameters(), "lr": rate} for layer, rate in rates]
        train(network, torch.optim.Adam(groups))
    assert set(subjects(recorded, "unmoved-parameter")) == {"0.weight", "0.bias"}


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(3, 2)
        self.other = nn.Linear(3, 2)
        self.is_cut = True
        self.is_occasional = False
        self.passes = 0

    def forward(self, x: torch.Tensor) -> Any:
        self.passes += 1
        is_cut = self.passes % 4 != 0 if self.is_occasional else self.is_cut
        unused = self.other(x)
        return unused.detach() + self.used(x) if is_cut else unused + self.used(x)


def test_a_parameter_without_a_gradient_is_recorded_with_the_number_of_steps() -> None:
    with watched(**PLENTY) as recorded:
        network = Branches()
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    cut = MissingGradient(LayerUse.CUT)
    assert missing_gradients(recorded) == {"other.weight": cut, "other.bias": cut}
    assert {value for value, _ in subjects(recorded, "no-gradient").values()} == {6.0}


class Chain(nn.Module):
    """A model whose first layer is detached, run without gradients, or not used."""

    def __init__(self, use: str) -> None:
        super().__init__()
        self.front = nn.Linear(3, 3)
        self.back = nn.Linear(3, 2)
        self.pooler = nn.Linear(3, 2)
        self.use = use

    def forward(self, x: torch.Tensor) -> Any:
        if self.use == "untracked":
            with torch.no_grad():
                x = self.front(x)
        elif self.use != "unused":
            x = self.front(x)
        if self.use == "side":
            self.pooler(x)
        else:
            x = x + self.pooler(x).sum()
        return self.back(x.detach() if self.use == "cut" else x)


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ("cut", {"front": "cut", "pooler": "cut"}),
        ("untracked", {"front": "untracked"}),
        ("unused", {"front": "unused"}),
        ("side", {"pooler": "side"}),
    ],
)
def test_the_use_of_a_layer_without_gradients_is_recorded(
    use: str, expected: dict[str, str]
) -> None:
    with watched(**PLENTY) as recorded:
        network = Chain(use)
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
        assert not any(module._forward_pre_hooks for module in network.children())
    missing = missing_gradients(recorded)
    assert {name.split(".")[0]: record.use.value for name, record in missing.items()} == expected


def test_a_layer_under_no_grad_is_recorded_with_its_script_line() -> None:
    with watched(**PLENTY) as recorded:
        network = Chain("untracked")
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    line = Chain.forward.__code__.co_firstlineno + 3
    expected = MissingGradient(LayerUse.UNTRACKED, f"test_ownership.py:{line}", at_every_step=True)
    assert set(missing_gradients(recorded).values()) == {expected}


def test_loaded_weights_are_frozen_under_no_grad() -> None:
    with watched(**PLENTY) as recorded:
        network = Chain("untracked")
        network.front.load_state_dict(nn.Linear(3, 3).state_dict())
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    uses = {record.use for record in missing_gradients(recorded).values()}
    assert uses == {LayerUse.FROZEN}


def test_previously_trained_weights_are_frozen_under_no_grad() -> None:
    with watched(**PLENTY) as recorded:
        network = Chain("all")
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
        network.use = "untracked"
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    uses = {record.use for record in missing_gradients(recorded).values()}
    assert uses == {LayerUse.FROZEN}


def test_a_moving_average_copy_records_nothing() -> None:
    with watched(**PLENTY) as recorded:
        network = Chain("untracked")
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        for _ in range(30):
            train(network, optimizer, 1)
            for slow, fast in zip(
                network.front.parameters(), network.back.parameters(), strict=True
            ):
                slow.data.mul_(0.9).add_(fast.detach().mean(), alpha=0.1)
    assert has_no_observations(recorded)


def test_a_layer_run_only_in_evaluations_is_not_under_no_grad_in_training() -> None:
    with watched(**PLENTY) as recorded:
        network = Chain("unused")
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        for _ in range(30):
            train(network, optimizer, 1)
            network.eval()
            network.use = "all"
            with torch.no_grad():
                network(torch.randn(4, 3))
            network.train()
            network.use = "unused"
    expected = {MissingGradient(LayerUse.FROZEN), MissingGradient(LayerUse.UNUSED)}
    assert set(missing_gradients(recorded).values()) <= expected


def test_an_occasionally_used_branch_records_nothing() -> None:
    with watched(**PLENTY) as recorded:
        network = Branches()
        network.is_occasional = True
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    assert has_no_observations(recorded)


def test_a_late_gradient_ends_the_observation() -> None:
    with watched(**PLENTY) as recorded:
        network = Branches()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        train(network, optimizer)
        network.is_cut = False
        train(network, optimizer, 100)
    rows = [row for row in recorded.observations("no-gradient") if row["subject"] == "other.bias"]
    records = [(row["value"], MissingGradient.decode(row["detail"])) for row in rows]
    over = MissingGradient(is_over=True)
    assert records == [(6.0, MissingGradient(LayerUse.CUT)), (0.0, over)]


def test_an_unmoved_parameter_is_recorded_with_its_learning_rate() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        groups = [
            {"params": network[0].parameters(), "lr": 0.001},
            {"params": network[1].parameters(), "lr": 0.0},
        ]
        train(network, torch.optim.SGD(groups, lr=0.001))
    observed = subjects(recorded, "unmoved-parameter")
    detail = UnmovedParameter(0.0).encode()
    assert observed == {"1.weight": (5.0, detail), "1.bias": (5.0, detail)}


def test_updates_lost_in_low_precision_are_recorded() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Linear(3, 4, bias=False).to(torch.bfloat16)
        nn.init.ones_(network.weight)
        optimizer = torch.optim.SGD(network.parameters(), lr=1e-7)
        for _ in range(30):
            optimizer.zero_grad()
            network(torch.ones(4, 3, dtype=torch.bfloat16)).sum().backward()
            optimizer.step()
    assert subjects(recorded, "unmoved-parameter") == {
        "weight": (10.0, UnmovedParameter(1e-7).encode())
    }


def test_weights_held_at_zero_count_as_pruned() -> None:
    with watched(**PLENTY) as recorded:
        pruned = nn.Linear(3, 64)
        network = nn.Sequential(pruned, nn.Linear(64, 2))
        mask = torch.zeros(64, 3)
        mask[::16, 1] = 1.0
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        for _ in range(30):
            with torch.no_grad():
                pruned.weight.mul_(mask)
            train(network, optimizer, 1)
            with torch.no_grad():
                pruned.weight.mul_(mask)
    assert has_no_observations(recorded)


def test_unusual_parameter_types_cause_no_failure() -> None:
    with watched(**PLENTY) as recorded:
        words = nn.Embedding(10, 3, sparse=True)
        image = nn.Conv2d(3, 4, 3, padding=1)
        channels_last = torch.channels_last
        image.weight.data = image.weight.data.contiguous(memory_format=channels_last)
        unusual = nn.ParameterList(
            [
                torch.tensor(1.0),
                torch.zeros(0, 3),
                torch.ones(2, 3).t(),
                torch.ones(2, dtype=torch.complex64),
            ]
        )
        network = nn.ModuleList([words, image, unusual])
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        picture = torch.randn(1, 3, 4, 4).contiguous(memory_format=channels_last)
        for _ in range(30):
            optimizer.zero_grad()
            loss = words(torch.tensor([1, 2])).sum() + image(picture).sum()
            loss = loss + sum(parameter.abs().sum() for parameter in unusual)
            loss.backward()
            optimizer.step()
    assert has_no_observations(recorded)


def test_layers_in_a_plain_list_are_unowned_and_named_by_their_index() -> None:
    class Stack(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Linear(3, 3)
            self.blocks = [nn.Linear(3, 3), nn.Linear(3, 3)]

        def forward(self, x: torch.Tensor) -> Any:
            x = self.first(x)
            for block in self.blocks:
                x = x + block(x)
            return x

    with watched(**PLENTY) as recorded:
        network = Stack()
        train(network, torch.optim.SGD(network.parameters(), lr=0.001))
    observed = subjects(recorded, "unowned-parameter")
    names = {name[name.index("blocks") :]: value for name, (value, _) in observed.items()}
    assert names == {f"blocks.{n}.{kind}": 2.0 for n in (0, 1) for kind in ("weight", "bias")}


def test_an_optimizer_of_another_copy_of_the_model_leaves_it_unowned() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        train(copy.deepcopy(network), optimizer)
    observed = subjects(recorded, "unowned-parameter")
    assert len(observed) == 4
    assert {value for value, _ in observed.values()} == {1.0}


def test_gradients_cleared_before_the_step_are_recorded_once() -> None:
    with watched(**PLENTY) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        for _ in range(10):
            network(torch.randn(4, 3)).square().sum().backward()
            optimizer.zero_grad()
            optimizer.step()
        train(network, optimizer, 2)
    rows = recorded.observations("no-gradient")
    records = [(row["step"], MissingGradient.decode(row["detail"])) for row in rows]
    cleared, over = MissingGradient(LayerUse.CLEARED), MissingGradient(is_over=True)
    assert records == [(2, cleared), (10, over)]
    assert len(recorded.scalars("loss")) == 12


def test_clearing_gradients_of_another_model_records_nothing() -> None:
    with watched(**PLENTY) as recorded:
        network, judge = nn.Linear(3, 2), nn.Linear(2, 1)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.001)
        for _ in range(10):
            optimizer.zero_grad()
            judge(network(torch.randn(4, 3))).square().sum().backward()
            judge.zero_grad()
            optimizer.step()
    assert recorded.observations("no-gradient") == []
    assert len(recorded.scalars("loss")) == 10
