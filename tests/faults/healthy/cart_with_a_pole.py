"""A policy learns to balance a pole on a cart by trial and error."""

LABEL = {"set": 5, "rule": None}

import math
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
CARTS, LONGEST = 16, 150
policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
optimizer = torch.optim.Adam(policy.parameters(), lr=1e-2)


def move(state, push):
    x, speed, angle, turn = state.unbind(1)
    force = 20.0 * push - 10.0
    pull = (force + 0.05 * turn**2 * angle.sin()) / 1.1
    bend = (9.8 * angle.sin() - angle.cos() * pull) / (0.5 * (4 / 3 - 0.1 * angle.cos() ** 2 / 1.1))
    thrust = pull - 0.05 * bend * angle.cos() / 1.1
    return torch.stack(
        [x + 0.02 * speed, speed + 0.02 * thrust, angle + 0.02 * turn, turn + 0.02 * bend], 1
    )


scale = torch.tensor([1.0, 1.0, 0.1, 1.0])
for update in range(60):
    state = 0.05 * torch.randn(CARTS, 4)
    alive = torch.ones(CARTS)
    logs, lives = [], []
    for _ in range(LONGEST):
        choice = torch.distributions.Categorical(logits=policy(state / scale))
        push = choice.sample()
        logs.append(choice.log_prob(push))
        lives.append(alive)
        state = move(state, push.float())
        alive = alive * (state[:, 2].abs() < 12 * math.pi / 180) * (state[:, 0].abs() < 2.4)
        if not alive.any():
            break
    lives, logs = torch.stack(lives), torch.stack(logs)
    returns = torch.zeros_like(lives)
    running = torch.zeros(CARTS)
    for t in range(len(lives) - 1, -1, -1):
        running = lives[t] * (1 + 0.98 * running)
        returns[t] = running
    chosen = returns[lives > 0]
    returns = (returns - chosen.mean()) / (chosen.std() + 1e-6)
    loss = -(logs * returns * lives).sum() / lives.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if update % 6 == 5:
        print(f"update {update}: loss {loss.item():.3f}, length {lives.sum(0).mean():.1f}")
