"""A neural cellular automaton learns to grow a ring from one cell and to preserve it."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
SIDE, CHANNELS, POOL = 16, 8, 64

across = torch.arange(SIDE) - SIDE / 2 + 0.5
radius = (across[None, :] ** 2 + across[:, None] ** 2).sqrt()
angle = torch.atan2(across[:, None].expand(SIDE, SIDE), across[None, :].expand(SIDE, SIDE))
ring = torch.sigmoid(3 * (1.6 - (radius - 4.5).abs()))
target = torch.stack([ring, ring * (0.5 + 0.5 * torch.sin(angle))])


def seeds(number):
    state = torch.zeros(number, CHANNELS, SIDE, SIDE)
    state[:, :, SIDE // 2, SIDE // 2] = 1
    return state


class Cells(nn.Module):
    def __init__(self):
        super().__init__()
        looks = torch.zeros(3, 3, 3)
        looks[0, 1, 1] = 1
        looks[1] = torch.tensor([[-1.0, 0, 1], [-2, 0, 2], [-1, 0, 1]]) / 8
        looks[2] = looks[1].T
        self.register_buffer("looks", looks[:, None].repeat(CHANNELS, 1, 1, 1))
        self.think = nn.Conv2d(3 * CHANNELS, 48, 1)
        self.change = nn.Conv2d(48, CHANNELS, 1)
        nn.init.zeros_(self.change.weight)
        nn.init.zeros_(self.change.bias)

    def forward(self, state):
        perceived = nn.functional.conv2d(state, self.looks, padding=1, groups=CHANNELS)
        change = self.change(torch.relu(self.think(perceived)))
        awake = (torch.rand(len(state), 1, SIDE, SIDE) < 0.5).float()
        return state + awake * change


def far(state):
    return ((state[:, :2] - target) ** 2).mean((1, 2, 3))


model = Cells()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
pool = seeds(POOL)
for step in range(260):
    chosen = torch.randperm(POOL)[:8]
    with torch.no_grad():
        chosen = chosen[far(pool[chosen]).argsort(descending=True)]
        state = pool[chosen]
        state[:1] = seeds(1)
    for _ in range(int(torch.randint(16, 25, ()))):
        state = model(state)
    loss = far(state).mean()
    optimizer.zero_grad()
    loss.backward()
    # Only the direction of each gradient is used, because the chains of updates are long.
    for weight in model.parameters():
        weight.grad /= weight.grad.norm() + 1e-8
    optimizer.step()
    pool[chosen] = state.detach()
    if step % 20 == 19:
        print(f"step {step + 1}: {loss.item():.4f}")
