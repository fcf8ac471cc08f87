"""Double Q-learning of how much water to release from a reservoir, from a replay memory."""

LABEL = {"set": 7, "rule": None}

import copy
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
VALLEYS, GATES, ROOM, STEPS = 16, 4, 8000, 1500
DISCOUNT = 0.95


class Valleys:
    """Simulated reservoirs: rain in winter, demand in summer, and floods if one is full."""

    def __init__(self):
        self.month = torch.randint(0, 12, (VALLEYS,))
        self.level = torch.rand(VALLEYS)

    def view(self):
        clock = 6.2832 * self.month / 12
        return torch.stack([4 * self.level - 2, 1.4 * clock.cos(), 1.4 * clock.sin()], 1)

    def act(self, gate):
        clock = 6.2832 * self.month / 12
        rain = (0.18 + 0.14 * clock.cos() + 0.06 * torch.randn(VALLEYS)).clamp(min=0)
        thirst = 0.16 - 0.13 * clock.cos()
        out = torch.minimum(0.12 * gate, self.level)
        self.level = self.level - out + rain
        flood = (self.level - 1).clamp(min=0)
        self.level = self.level.clamp(max=1)
        self.month = (self.month + 1) % 12
        return 1 - 4 * (thirst - out).clamp(min=0) - 6 * flood


class Memory:
    def __init__(self):
        self.views, self.afters = torch.zeros(ROOM, 3), torch.zeros(ROOM, 3)
        self.gates, self.rewards = torch.zeros(ROOM, dtype=torch.long), torch.zeros(ROOM)
        self.place, self.filled = 0, 0

    def keep(self, view, gate, reward, after):
        rows = (self.place + torch.arange(VALLEYS)) % ROOM
        self.views[rows], self.afters[rows] = view, after
        self.gates[rows], self.rewards[rows] = gate, reward
        self.place = (self.place + VALLEYS) % ROOM
        self.filled = min(ROOM, self.filled + VALLEYS)

    def remember(self, number=64):
        rows = torch.randint(0, self.filled, (number,))
        return self.views[rows], self.gates[rows], self.rewards[rows], self.afters[rows]


model = nn.Sequential(
    nn.Linear(3, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, GATES)
)
target = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=8e-4)
valleys, memory, earned = Valleys(), Memory(), []
for step in range(STEPS):
    view = valleys.view()
    with torch.no_grad():
        best = model(view).argmax(1)
    try_out = torch.rand(VALLEYS) < max(0.05, 1 - step / 600)
    gate = torch.where(try_out, torch.randint(0, GATES, (VALLEYS,)), best)
    reward = valleys.act(gate)
    memory.keep(view, gate, reward, valleys.view())
    earned.append(reward.mean().item())
    if step < 20:
        continue
    view, gate, reward, after = memory.remember()
    with torch.no_grad():
        choice = model(after).argmax(1, keepdim=True)
        worth = reward + DISCOUNT * target(after).gather(1, choice).squeeze(1)
    loss = nn.functional.smooth_l1_loss(model(view).gather(1, gate[:, None]).squeeze(1), worth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.01)
    if step % 150 == 149:
        print(f"{step + 1}: loss {loss.item():.4f}, reward {sum(earned[-150:]) / 150:.3f}")
