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
    """A fit of noisy values with LBFGS, which calls its closure about six times per step."""
    curve = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
    inputs = 3 * torch.randn(32, 1)
    # on changing inputs or without line search, LBFGS diverges to NaN, and every step is inspected
    optimizer = torch.optim.LBFGS(curve.parameters(), max_iter=5, line_search_fn="strong_wolfe")
    while True:
        targets = inputs.sin() + 0.3 * torch.randn(32, 1)

        def closure(targets: Tensor = targets) -> Tensor:
            optimizer.zero_grad()
            loss = functional.mse_loss(curve(inputs), targets)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss

        optimizer.step(closure)  # type: ignore[no-untyped-call]
        if tick():
            return
