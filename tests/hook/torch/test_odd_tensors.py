"""Unusual parameters and tensors are recorded with the right names."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.fakes.session import watched


def test_a_sparse_gradient_is_measured_with_the_zeros_that_it_implies() -> None:
    with watched("gradients") as recorded:
        words = nn.Embedding(10, 2, sparse=True)
        optimizer = torch.optim.SGD(words.parameters(), lr=0.1)
        words(torch.tensor([1, 1, 3])).sum().backward()
        optimizer.step()

    row = recorded.statistics()["gradient/weight"]
    assert (row["count"], row["zeros"], row["sum"]) == (20, 16, 6.0)


def test_a_frozen_parameter_has_no_gradient_and_a_shared_parameter_has_one_name() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(5, 3)
            self.frozen = nn.Linear(3, 3).requires_grad_(False)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.words.weight

        def forward(self, words: Tensor) -> Any:
            return self.head(self.frozen(self.words(words)))

    with watched("weights", "biases", "gradients") as recorded:
        network = Tied()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network(torch.tensor([0, 1])).sum().backward()
        optimizer.step()

    assert set(recorded.statistics()) == {
        *("words.weight", "gradient/words.weight", "frozen.weight", "frozen.bias"),
    }


def test_lazy_layers_are_named_like_others() -> None:
    with watched("weights", "activations") as recorded:
        network = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            network(torch.ones(2, 3)).sum().backward()
            optimizer.step()

    assert set(recorded.statistics(step=1)) == {"0.weight", "2.weight", "1_output_0"}
    assert recorded.notices() == {}


def test_a_replaced_layer_keeps_the_name() -> None:
    with watched("weights") as recorded:
        network = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        torch.optim.SGD(network.parameters(), lr=0.1)
        network[1] = nn.Linear(3, 4)
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        network(torch.ones(2, 3)).sum().backward()
        optimizer.step()

    rows = recorded.statistics()
    assert {name: row["count"] for name, row in rows.items()} == {"0.weight": 9, "1.weight": 12}


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.bfloat16])
def test_low_precision_activations_are_recorded(dtype: torch.dtype) -> None:
    class Rounded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)

        def forward(self, batch: Tensor) -> Any:
            output = self.layer(batch)
            return output, output.detach().to(dtype)

    with watched("outputs:values,histogram") as recorded:
        network = Rounded()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        output, rounded = network(torch.ones(2, 3))
        output.sum().backward()
        optimizer.step()

    values = recorded.values["train", 0]["output_0.1"]
    assert np.array_equal(np.asarray(values, dtype=np.float32), rounded.float().numpy())
    assert recorded.statistics()["output_0.1"]["count"] == 6


def test_names_are_the_same_under_wrappers() -> None:
    with watched("weights", "activations") as recorded:
        network = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
        wrapped: Any = nn.DataParallel(network)
        optimizer = torch.optim.SGD(wrapped.parameters(), lr=0.1)
        wrapped(torch.ones(2, 3)).sum().backward()
        optimizer.step()

    assert set(recorded.statistics()) == {"0.weight", "1_output_0"}
