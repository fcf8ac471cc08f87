"""Training loops with short steps that differ from epochs over a data set."""

from collections.abc import Callable
from itertools import count

import torch
from torch import Tensor, nn
from torch.nn import functional

Tick = Callable[[], bool]


def bandit(tick: Tick) -> None:
    """A policy gradient with one action per step, on a moving target."""
    policy = nn.Sequential(nn.Linear(6, 32), nn.Tanh(), nn.Linear(32, 4))
    optimizer = torch.optim.RMSprop(policy.parameters(), lr=1e-3)
    for number in count():
        choice = torch.distributions.Categorical(logits=policy(torch.randn(6)))
        action = choice.sample()  # type: ignore[no-untyped-call]
        reward = float(int(action) == number // 500 % 4)
        loss = -choice.log_prob(action) * (reward - 0.25)  # type: ignore[no-untyped-call]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if tick():
            return


def closures(tick: Tick) -> None:
    """A curve fit with LBFGS, which calls its closure up to five times per step."""
    curve = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.LBFGS(curve.parameters(), lr=0.1, max_iter=5)
    while True:
        inputs = 3 * torch.randn(32, 1)
        targets = inputs.sin()

        def closure(inputs: Tensor = inputs, targets: Tensor = targets) -> Tensor:
            optimizer.zero_grad()
            loss = functional.mse_loss(curve(inputs), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(closure)  # type: ignore[no-untyped-call]
        if tick():
            return
