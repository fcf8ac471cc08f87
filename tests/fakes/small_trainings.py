"""Real trainings of a second: what their losses, gradients and learning rates are really like."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim import Optimizer

Recorded = dict[str, list[float]]


class Recorder:
    """Trains, and keeps what the hook would have seen."""

    def __init__(self, model: Any, optimizer: Optimizer, clip: float = 0.0, name: str = "") -> None:
        self._model, self._optimizer, self._clip = model, optimizer, clip
        self._name = name
        self.seen: Recorded = {}

    def step(self, loss: Any) -> None:
        """One step on a loss."""
        self._optimizer.zero_grad()
        loss.backward()
        most = self._clip or float("inf")
        norm = float(nn.utils.clip_grad_norm_(self._model.parameters(), most))
        self._see("loss", loss.item())
        self._see("gradient_norm", norm)
        if self._clip:
            self._see("clip_factor", min(1.0, self._clip / (norm + 1e-6)))
        self._optimizer.step()
        if not self._name:
            self._see("learning_rate/0", self._optimizer.param_groups[0]["lr"])

    def _see(self, what: str, value: float) -> None:
        self.seen.setdefault(f"{what}{self._name}", []).append(value)


def _mlp(inputs: int, outputs: int, width: int = 64) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))


def _batches(size: int, steps: int) -> Any:
    """Samples of ten classes that overlap a little."""
    centers = torch.rand(10, 64)
    for _ in range(steps):
        labels = torch.randint(0, 10, (size,))
        yield centers[labels] + 0.4 * torch.randn(size, 64), labels


def batch_of_four() -> Recorded:
    """Few samples at a time, near zero in the end."""
    model = _mlp(64, 10)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 2e-3))
    for inputs, labels in _batches(4, 900):
        recorder.step(functional.cross_entropy(model(inputs), labels))
    return recorder.seen


def plateau_then_drop() -> Recorded:
    """Sigmoids in a row: nothing for a while, and then all."""
    layers = [part for _ in range(3) for part in (nn.Linear(64, 64), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(64, 10))
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for inputs, labels in _batches(32, 800):
        recorder.step(functional.cross_entropy(model(inputs), labels))
    return recorder.seen


def restarts() -> Recorded:
    """A learning rate in cycles, from high to zero."""
    model = _mlp(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 150)
    recorder = Recorder(model, optimizer)
    for inputs, labels in _batches(32, 600):
        recorder.step(functional.cross_entropy(model(inputs), labels))
        schedule.step()
    return recorder.seen


def little_to_know() -> Recorded:
    """A regression of mostly noise."""
    model, truth = _mlp(8, 1, 16), torch.randn(8, 1) * 0.2
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for _ in range(600):
        inputs = torch.randn(64, 8)
        wanted = inputs @ truth + torch.randn(64, 1)
        recorder.step(functional.mse_loss(model(inputs), wanted))
    return recorder.seen


def log_likelihood() -> Recorded:
    """A density: its loss passes zero."""
    model, truth = _mlp(4, 2, 32), torch.randn(4)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 2e-3), clip=10.0)
    for _ in range(600):
        inputs = torch.randn(32, 4)
        wanted = inputs @ truth + 0.1 * torch.randn(32)
        middle, spread = model(inputs).unbind(1)
        recorder.step((spread + 0.5 * ((wanted - middle) / spread.exp()) ** 2).mean())
    return recorder.seen


def contrastive() -> Recorded:
    """Two views of the same sample among sixty-four."""
    model = _mlp(64, 32)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for inputs, _ in _batches(64, 400):
        views = [inputs + 0.2 * torch.randn_like(inputs) for _ in range(2)]
        first, second = (functional.normalize(model(one), dim=1) for one in views)
        recorder.step(functional.cross_entropy(first @ second.T / 0.2, torch.arange(64)))
    return recorder.seen


def policy_gradient() -> Recorded:
    """A bandit with ten arms: what is called a loss is none."""
    model, worth = nn.Linear(4, 10), torch.randn(10)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-2))
    for _ in range(400):
        chances = functional.log_softmax(model(torch.ones(16, 4)), dim=1)
        chosen = torch.multinomial(chances.exp(), 1)
        reward = worth[chosen] + torch.randn(16, 1)
        recorder.step(-(chances.gather(1, chosen) * (reward - reward.mean())).mean())
    return recorder.seen


def gan() -> Recorded:
    """Two models against each other."""
    maker, judge = _mlp(4, 2, 32), _mlp(2, 1, 32)
    making = Recorder(maker, torch.optim.Adam(maker.parameters(), 1e-3), name="/0")
    judging = Recorder(judge, torch.optim.Adam(judge.parameters(), 1e-3), name="/1")
    real = torch.ones(32, 1)
    for _ in range(400):
        true, made = torch.randn(32, 2) * 0.3 + 1, maker(torch.randn(32, 4))
        verdicts = torch.cat([judge(true), judge(made.detach())])
        truth = torch.cat([real, 0 * real])
        judging.step(functional.binary_cross_entropy_with_logits(verdicts, truth))
        making.step(functional.binary_cross_entropy_with_logits(judge(made), real))
    return {**making.seen, **judging.seen}


TRAININGS: Mapping[str, Callable[[], Recorded]] = {
    one.__name__: one
    for one in (
        *(batch_of_four, plateau_then_drop, restarts, little_to_know, log_likelihood),
        *(contrastive, policy_gradient, gan),
    )
}


def train(kind: str, seed: int) -> Recorded:
    """One of them, all randomness from a seed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more of them only get in each other's way
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        seen = TRAININGS[kind]()
    torch.set_num_threads(threads)
    assert all(np.isfinite(one).all() for one in seen.values())
    return seen
