"""Forward passes of models are recorded, and the hooks leave no trace."""

import copy
import io
import pickle
import warnings
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from sonde.hook.torch.patching.names import Names
from tests.fakes.session import watched


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1))


def train(network: nn.Module, steps: int = 2) -> None:
    optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
    for _ in range(steps):
        network(torch.ones(2, 3)).sum().backward()
        optimizer.step()


def test_a_trained_model_is_saved_and_copied_without_our_hooks() -> None:
    with watched("activations"):
        network = model()
        train(network)
        file = io.BytesIO()
        torch.save(network, file)
        copied, pickled = copy.deepcopy(network), pickle.dumps(network)

        assert network._forward_hooks
        assert not copied._forward_hooks
        assert not copied._forward_pre_hooks_with_kwargs
        assert b"sonde" not in file.getvalue() + pickled


class WithCustomState(nn.Linear):
    def __getstate__(self) -> dict[str, Any]:
        return dict(vars(self), is_custom=True)


def test_a_model_with_custom_pickling_is_saved_correctly() -> None:
    with watched("activations"):
        network = WithCustomState(3, 1)
        train(network)
        saved = pickle.dumps(network)
        copied = copy.deepcopy(network)

    assert b"sonde" not in saved
    assert vars(pickle.loads(saved))["is_custom"]
    assert vars(copied)["is_custom"]
    assert not copied._forward_hooks


def test_a_traced_graph_is_saved_without_our_hooks() -> None:
    with watched("activations"):
        network = torch.fx.symbolic_trace(model())
        train(network)

        assert b"sonde" not in pickle.dumps(network)


def test_hooks_registered_by_the_script_are_saved_and_copied() -> None:
    with watched():
        network = model()
        network.register_forward_hook(max, with_kwargs=True)
        train(network, steps=0)
        copied = copy.deepcopy(network)

    assert list(copied._forward_hooks.values()) == [max]
    assert len(copied._forward_hooks_with_kwargs) == 1


def test_a_trained_model_can_be_scripted() -> None:
    warnings.filterwarnings("ignore", category=DeprecationWarning)
    with watched("activations"):
        network = model()
        train(network)
        hooks = dict(network._forward_hooks)
        scripted = torch.jit.script(network)
        trace: Any = torch.jit.trace
        traced = trace(network, torch.ones(2, 3))
        plain = network(torch.ones(2, 3))

        assert hooks
        assert network._forward_hooks == hooks
        assert torch.equal(scripted(torch.ones(2, 3)), plain)
        assert torch.equal(traced(torch.ones(2, 3)), plain)
        assert "clone" not in str(traced.graph)


def test_the_forward_pass_of_a_model_compiled_in_place_is_recorded() -> None:
    with watched() as recorded:
        network = model()
        network.compile(backend="eager", fullgraph=True)
        train(network)

    assert recorded.phases(step=1) == ["forward", "backward", "optimizer"]


@pytest.mark.parametrize("use_reentrant", [True, False])
def test_recomputation_in_backward_is_not_a_forward_pass(use_reentrant: bool) -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(2):
            inputs = torch.ones(2, 3, requires_grad=True)
            checkpoint(network, inputs, use_reentrant=use_reentrant).sum().backward()
            optimizer.step()

    assert recorded.phases(step=1) == ["forward", "backward", "optimizer"]
    assert recorded.scalars("loss", "eval") == {}


def test_a_pass_that_raised_does_not_hide_the_next_one() -> None:
    with watched() as recorded:
        network = model()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.1)
        with pytest.raises(RuntimeError):
            network(torch.ones(2, 5))
        network(torch.ones(2, 3)).sum().backward()
        optimizer.step()

    assert recorded.phases() == ["forward", "backward", "optimizer"]


def test_loss_modules_created_at_each_step_do_not_trigger_a_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searches: list[list[nn.Module]] = []
    monkeypatch.setattr(Names, "learn", lambda _names, roots: searches.append(roots))
    with watched() as recorded:
        network = model()
        optimizer: Any = torch.optim.SGD(network.parameters(), lr=0.1)
        for _ in range(10):
            criterion = nn.MSELoss()
            output = nn.Tanh()(network(torch.ones(2, 3)))
            criterion(output, torch.zeros(2, 1)).backward()
            optimizer.step()
        before = len(searches)
        train(nn.Linear(3, 1))

    assert before < 10
    assert len(searches) > before
    assert len(recorded.scalars("loss/0") | recorded.scalars("loss")) >= 10
