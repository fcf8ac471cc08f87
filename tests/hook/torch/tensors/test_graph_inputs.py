"""Inputs of a computation, found in its graph."""

import torch
from torch import nn
from torch.nn import functional

from sonde.hook.torch.tensors.graph_inputs import inputs_in_graph


def test_the_batch_and_the_targets_of_a_pass_are_found_in_its_graph() -> None:
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    batch, targets = torch.randn(5, 4), torch.randn(5, 2)

    inputs = inputs_in_graph(functional.mse_loss(model(batch), targets))

    assert [tensor.data_ptr() for tensor in inputs] == [batch.data_ptr(), targets.data_ptr()]


def test_weights_and_running_statistics_are_not_inputs() -> None:
    model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(8, 1))
    model[0].requires_grad_(requires_grad=False)
    batch = torch.randn(3, 1, 4, 4)

    inputs = inputs_in_graph(model(batch).sum())

    addresses = {tensor.data_ptr() for tensor in (*model.parameters(), *model.buffers())}
    assert not addresses & {tensor.data_ptr() for tensor in inputs}


def test_a_freed_graph_has_no_inputs_and_raises_nothing() -> None:
    model = nn.Linear(4, 1)
    loss = model(torch.randn(5, 4)).square().mean()
    loss.backward()

    assert inputs_in_graph(loss) == []
