"""Several backward passes in one step: micro-steps, terms of one loss, closures."""

from typing import Any

import pytest
import torch
from torch import nn

from tests.fakes.session import watched


def model_and(optimizer: type[torch.optim.Optimizer], **settings: Any) -> tuple[Any, Any]:
    model = nn.Linear(4, 2)
    return model, optimizer(model.parameters(), **settings)


def loss_of(model: nn.Module) -> Any:
    return model(torch.ones(3, 4)).square().mean()


@pytest.mark.parametrize("closely", [True, False])
@pytest.mark.parametrize("by", ["optimizer", "model"])
def test_a_batch_with_discarded_gradients_is_not_a_micro_step(closely: bool, by: str) -> None:
    losses = []
    with watched(closely=closely) as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for step in range(40):
            if step % 10 == 7:
                (10 * loss_of(model)).backward()
                (optimizer if by == "optimizer" else model).zero_grad()
            loss = loss_of(model)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == losses
    details = [row["detail"] for row in recorded.rows["events"] if row["category"] == "step"]
    assert set(details) == {""}


@pytest.mark.parametrize("closely", [True, False])
def test_losses_of_two_backward_calls_on_different_lines_are_added(closely: bool) -> None:
    sums = []
    with watched(closely=closely) as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(20):
            optimizer.zero_grad()
            real = loss_of(model)
            real.backward()
            fake = 3 * loss_of(model)
            fake.backward()
            optimizer.step()
            sums.append(real.item() + fake.item())

    assert list(recorded.scalars("loss").values()) == pytest.approx(sums)
    details = [row["detail"] for row in recorded.rows["events"] if row["category"] == "step"]
    assert set(details) == {""}


@pytest.mark.parametrize("closely", [True, False])
def test_the_call_site_is_the_caller_of_a_backward_helper(closely: bool) -> None:
    def learn(loss: Any) -> float:
        loss.backward()
        return float(loss.detach())

    sums, means = [], []
    with watched(closely=closely) as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(10):
            sums.append(learn(loss_of(model)) + learn(2 * loss_of(model)))
            optimizer.step()
            optimizer.zero_grad()
        for _ in range(10):
            means.append(sum([learn(loss_of(model)) for _ in range(3)]) / 3)
            optimizer.step()
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == pytest.approx(sums + means)


def test_accumulated_loss_terms_are_divided_and_added() -> None:
    sums = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(3):
            total = 0.0
            for _ in range(2):
                real, fake = loss_of(model), 3 * loss_of(model)
                (real / 2).backward()
                (fake / 2).backward()
                total += (real.item() + fake.item()) / 2
            optimizer.step()
            optimizer.zero_grad()
            sums.append(total)

    assert list(recorded.scalars("loss").values()) == pytest.approx(sums)
    details = [row["detail"] for row in recorded.rows["events"] if row["category"] == "step"]
    assert set(details) == {'{"micro_steps":2}'}


def test_the_last_micro_step_may_call_backward_on_another_line() -> None:
    means = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(3):
            losses = [loss_of(model) for _ in range(4)]
            for loss in losses[:-1]:
                loss.backward()
            losses[-1].backward()
            optimizer.step()
            optimizer.zero_grad()
            means.append(sum([loss.item() for loss in losses]) / 4)

    assert list(recorded.scalars("loss").values()) == pytest.approx(means)


def test_the_loss_of_a_closure_comes_from_its_first_call() -> None:
    first_losses = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.LBFGS, lr=0.5, max_iter=4)

        def closure() -> Any:
            optimizer.zero_grad()
            losses = [loss_of(model), 3 * loss_of(model)]
            for loss in losses:
                (loss / 2).backward()
            return sum(losses) / 2

        first_losses += [optimizer.step(closure).item() for _ in range(3)]

    assert list(recorded.scalars("loss").values()) == pytest.approx(first_losses)


def test_later_closure_calls_do_not_change_the_loss() -> None:
    losses = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(3):
            loss = loss_of(model)
            loss.backward()
            losses.append(loss.item())

            def closure() -> Any:
                optimizer.zero_grad()
                ahead = 5 * loss_of(model)
                ahead.backward()
                return ahead

            optimizer.step(closure)
            optimizer.zero_grad()

    assert list(recorded.scalars("loss").values()) == losses


def test_a_closure_may_run_the_last_micro_step() -> None:
    means = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(3):
            losses = [loss_of(model) for _ in range(3)]

            def learn(loss: Any) -> Any:
                (loss / 3).backward()
                return loss

            optimizer.zero_grad()
            for loss in losses[:-1]:
                learn(loss)
            optimizer.step(lambda learn=learn, loss=losses[-1]: learn(loss))
            means.append(sum([loss.item() for loss in losses]) / 3)

    assert list(recorded.scalars("loss").values()) == pytest.approx(means)


def test_two_optimizers_that_train_one_after_the_other_keep_all_their_losses() -> None:
    losses = []
    with watched() as recorded:
        models = [nn.Linear(4, 2) for _ in range(2)]
        optimizers = [torch.optim.SGD(model.parameters(), lr=0.1) for model in models]
        for model, optimizer in zip(models, optimizers, strict=True):
            for _ in range(6):
                loss = loss_of(model)
                losses.append(loss.item())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    assert recorded.scalars("loss") == dict(enumerate(losses))


def test_passes_without_ddp_synchronization_are_micro_steps() -> None:
    means = []
    with watched() as recorded:
        model, optimizer = model_and(torch.optim.SGD, lr=0.1)
        for _ in range(3):
            model.require_backward_grad_sync = False  # as DDP sets it inside no_sync()
            first = loss_of(model)
            first.backward()
            model.require_backward_grad_sync = True
            last = 3 * loss_of(model)
            last.backward()
            optimizer.step()
            optimizer.zero_grad()
            means.append((first.item() + last.item()) / 2)

    assert list(recorded.scalars("loss").values()) == pytest.approx(means)
