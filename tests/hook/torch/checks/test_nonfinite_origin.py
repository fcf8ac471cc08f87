"""A non-finite number is traced to where it came from."""

import json
import math
from typing import Any

import torch
from torch import Tensor, nn

from tests.fakes.session import Recorded, watched

Source = tuple[str, int, float, str, str]


class Log(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.log(x)


class Net(nn.Module):
    """A model with a selectable fault."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.log = Log()
        self.last = nn.Linear(4, 1)
        self.fault = ""

    def forward(self, x: Tensor) -> Any:
        x = self.first(x)
        x = self.log(-x.abs()) if self.fault == "module" else self.log(x.abs() + 1)
        if self.fault == "between":
            x = x / 0.0
        return self.last(x)


def train(
    faults: dict[int, str], steps: int = 6, update: bool = True, bad_data: tuple[int, ...] = ()
) -> Recorded:
    with watched() as recorded:
        torch.manual_seed(3)
        network = Net()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01 if update else 0.0)
        for step in range(steps):
            network.fault = faults.get(step, "")
            batch = torch.randn(4, 3)
            if step in bad_data:
                batch[1, 2] = math.inf
            if network.fault == "weight":
                with torch.no_grad():
                    network.last.weight[0, 1] = math.nan
            output = network(batch)
            loss = output.square().mean()
            if network.fault == "loss":
                loss = torch.log(-loss)
            optimizer.zero_grad()
            loss.backward()
            if not update:
                network.zero_grad()
            optimizer.step()
    return recorded


def origins(recorded: Recorded) -> list[Source]:
    rows: list[dict[str, Any]] = recorded.observations("first-non-finite")
    details = [json.loads(row["detail"]) for row in rows]
    return [
        (row["subject"], row["step"], row["value"], detail["found"], detail["in"])
        for row, detail in zip(rows, details, strict=True)
    ]


def test_a_healthy_training_records_nothing() -> None:
    assert origins(train({})) == []


def test_bad_data_is_the_origin_at_the_step_itself() -> None:
    assert origins(train({}, bad_data=(2,))) == [("input 0", 2, 2.0, "inf", "input")]


def test_a_bad_weight_is_named() -> None:
    assert origins(train({2: "weight"})) == [("last.weight", 2, 2.0, "nan", "weight")]


def test_a_loss_of_finite_outputs_is_its_own_origin() -> None:
    assert origins(train({2: "loss"})) == [("loss", 2, 2.0, "nan", "loss")]


def test_values_that_arise_in_a_module_are_traced_in_the_next_pass() -> None:
    recorded = train({2: "module", 3: "module"}, update=False)
    assert origins(recorded) == [
        ("Net", 2, 2.0, "nan", "model"),
        ("log", 3, 2.0, "nan", "output"),
    ]


def test_values_that_arise_between_modules_are_traced_to_the_next_module() -> None:
    recorded = train({2: "between", 3: "between"}, update=False)
    assert origins(recorded)[1:] == [("last", 3, 2.0, "inf", "input")]


def test_values_that_become_finite_again_are_recorded_as_finite() -> None:
    recorded = train({2: "module"}, update=False)
    assert origins(recorded)[1:] == [("", 3, 2.0, "finite", "output")]


def test_weights_damaged_by_a_bad_step_are_not_the_origin() -> None:
    assert origins(train({2: "module"})) == [("Net", 2, 2.0, "nan", "model")]


def test_every_episode_is_traced_once() -> None:
    faults = dict.fromkeys((1, 2, 3, 6, 7), "module")
    recorded = train(faults, steps=9, update=False)
    assert [(row[1], row[4]) for row in origins(recorded)] == [
        (1, "model"),
        (2, "output"),
        (6, "model"),
        (7, "output"),
    ]


def test_non_finite_gradients_name_the_layer_next_to_the_origin() -> None:
    with watched(overhead_percent=1e6) as recorded:
        network = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 4), nn.Linear(4, 1))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for step in range(4):
            hidden = network[1](network[0](torch.randn(4, 3)))
            if step == 2:
                hidden.register_hook(lambda gradient: gradient * math.nan)
            optimizer.zero_grad()
            network[2](hidden).sum().backward()
            nn.utils.clip_grad_value_(network.parameters(), 1.0)
            optimizer.step()
    assert origins(recorded) == [("1.bias", 2, 2.0, "nan", "gradient")]


def test_the_origin_is_recorded_if_the_loop_skips_bad_steps() -> None:
    with watched() as recorded:
        network = Net()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for factor in (1.0, math.inf, 1.0, 1.0):
            batch = torch.ones(4, 3) * factor
            loss = network(batch).square().mean()
            optimizer.zero_grad()
            loss.backward()
            if math.isfinite(loss.item()):
                optimizer.step()
    assert origins(recorded) == [("input 0", 1, 1.0, "inf", "input")]


def test_the_hooks_of_a_trace_are_removed_after_it() -> None:
    with watched():
        network = Net()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
        for step in range(3):
            network.fault = "module" if step == 0 else ""
            network(torch.randn(4, 3)).sum().backward()
            network.zero_grad()
            optimizer.step()
        assert not network.log._forward_hooks
        assert not network.last._forward_hooks


def test_compiled_regions_get_no_hooks() -> None:
    with watched() as recorded:
        network = Net()
        nn.init.ones_(network.first.weight)
        compiled = torch.compile(network, backend="eager", fullgraph=True)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.0)
        for _ in range(3):
            compiled(torch.full((4, 3), 3e38)).square().sum().backward()
            assert not network.last._forward_hooks
            network.zero_grad()
            optimizer.step()
    assert [(row[0], row[4]) for row in origins(recorded)] == [("Net", "model"), ("Net", "output")]
