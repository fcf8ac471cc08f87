"""Real trainings of about a second, with realistic losses, gradients and learning rates."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.optim import Optimizer

Recorded = dict[str, list[float]]


class Recorder:
    """Trains and records what the hook would record."""

    def __init__(self, model: Any, optimizer: Optimizer, clip: float = 0.0, name: str = "") -> None:
        self._model, self._optimizer, self._clip = model, optimizer, clip
        self._name = name
        self.recorded: Recorded = {}

    def step(self, loss: Any) -> None:
        """Run a training step with a loss."""
        self._optimizer.zero_grad()
        loss.backward()
        max_norm = self._clip or float("inf")
        norm = float(nn.utils.clip_grad_norm_(self._model.parameters(), max_norm))
        self._record("loss", loss.item())
        self._record("gradient_norm", norm)
        if self._clip:
            self._record("clip_factor", min(1.0, self._clip / (norm + 1e-6)))
        self._optimizer.step()
        if not self._name:
            self._record("learning_rate/0", self._optimizer.param_groups[0]["lr"])

    def _record(self, what: str, value: float) -> None:
        self.recorded.setdefault(f"{what}{self._name}", []).append(value)


def _mlp(inputs: int, outputs: int, width: int = 64) -> nn.Sequential:
    return nn.Sequential(nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, outputs))


def _batches(size: int, steps: int) -> Any:
    """Yield samples of ten slightly overlapping classes."""
    centers = torch.rand(10, 64)
    for _ in range(steps):
        labels = torch.randint(0, 10, (size,))
        yield centers[labels] + 0.4 * torch.randn(size, 64), labels


def batch_of_four() -> Recorded:
    """Train on small batches until the loss is near zero."""
    model = _mlp(64, 10)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 2e-3))
    for inputs, labels in _batches(4, 900):
        recorder.step(functional.cross_entropy(model(inputs), labels))
    return recorder.recorded


def plateau_then_drop() -> Recorded:
    """Train stacked sigmoids: a plateau, then a sudden drop."""
    layers = [layer for _ in range(3) for layer in (nn.Linear(64, 64), nn.Sigmoid())]
    model = nn.Sequential(*layers, nn.Linear(64, 10))
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for inputs, labels in _batches(32, 800):
        recorder.step(functional.cross_entropy(model(inputs), labels))
    return recorder.recorded


def restarts() -> Recorded:
    """Train with a cyclic learning rate, from high to zero."""
    model = _mlp(64, 10)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 150)
    recorder = Recorder(model, optimizer)
    for inputs, labels in _batches(32, 600):
        recorder.step(functional.cross_entropy(model(inputs), labels))
        schedule.step()
    return recorder.recorded


def noisy_regression() -> Recorded:
    """Train a regression on mostly noise."""
    model, truth = _mlp(8, 1, 16), torch.randn(8, 1) * 0.2
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for _ in range(600):
        inputs = torch.randn(64, 8)
        targets = inputs @ truth + torch.randn(64, 1)
        recorder.step(functional.mse_loss(model(inputs), targets))
    return recorder.recorded


def log_likelihood() -> Recorded:
    """Train a density model, whose loss becomes negative."""
    model, truth = _mlp(4, 2, 32), torch.randn(4)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 2e-3), clip=10.0)
    for _ in range(600):
        inputs = torch.randn(32, 4)
        targets = inputs @ truth + 0.1 * torch.randn(32)
        middle, spread = model(inputs).unbind(1)
        recorder.step((spread + 0.5 * ((targets - middle) / spread.exp()) ** 2).mean())
    return recorder.recorded


def contrastive() -> Recorded:
    """Train with a contrastive loss on two views of 64 samples."""
    model = _mlp(64, 32)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-3))
    for inputs, _ in _batches(64, 400):
        views = [inputs + 0.2 * torch.randn_like(inputs) for _ in range(2)]
        first, second = (functional.normalize(model(view), dim=1) for view in views)
        recorder.step(functional.cross_entropy(first @ second.T / 0.2, torch.arange(64)))
    return recorder.recorded


def policy_gradient() -> Recorded:
    """Train a bandit with ten arms, whose loss is not meaningful."""
    model, worth = nn.Linear(4, 10), torch.randn(10)
    recorder = Recorder(model, torch.optim.Adam(model.parameters(), 1e-2))
    for _ in range(400):
        chances = functional.log_softmax(model(torch.ones(16, 4)), dim=1)
        chosen = torch.multinomial(chances.exp(), 1)
        reward = worth[chosen] + torch.randn(16, 1)
        recorder.step(-(chances.gather(1, chosen) * (reward - reward.mean())).mean())
    return recorder.recorded


def gan() -> Recorded:
    """Train two models against each other."""
    maker, judge = _mlp(4, 2, 32), _mlp(2, 1, 32)
    making = Recorder(maker, torch.optim.Adam(maker.parameters(), 1e-3), name="/0")
    judging = Recorder(judge, torch.optim.Adam(judge.parameters(), 1e-3), name="/1")
    real = torch.ones(32, 1)
    for _ in range(400):
        true, fake = torch.randn(32, 2) * 0.3 + 1, maker(torch.randn(32, 4))
        verdicts = torch.cat([judge(true), judge(fake.detach())])
        truth = torch.cat([real, 0 * real])
        judging.step(functional.binary_cross_entropy_with_logits(verdicts, truth))
        making.step(functional.binary_cross_entropy_with_logits(judge(fake), real))
    return {**making.recorded, **judging.recorded}


TRAININGS: Mapping[str, Callable[[], Recorded]] = {
    training.__name__: training
    for training in (
        *(batch_of_four, plateau_then_drop, restarts, noisy_regression, log_likelihood),
        *(contrastive, policy_gradient, gan),
    )
}


def train(kind: str, seed: int) -> Recorded:
    """Run a training with a fixed seed."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # more threads would only slow it down
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        recorded = TRAININGS[kind]()
    torch.set_num_threads(threads)
    assert all(np.isfinite(values).all() for values in recorded.values())
    return recorded
