"""Imitation learning: a pilot labels the states that the learner reaches from harder starts."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
AHEAD, CARS, TIMES, ROUNDS, STEPS, BATCH = 4, 24, 40, 8, 120, 64


def roads():
    bends = torch.randn(CARS, 1, TIMES + AHEAD + 8)
    return 1.5 * F.avg_pool1d(bends, 9, 1).squeeze(1)


def pilot(state):
    offset, heading, bends = state[:, 0], state[:, 1], state[:, 2:]
    weights = torch.tensor([0.4, 0.3, 0.2, 0.1])
    return 1.5 * torch.tanh(-1.2 * offset - 1.5 * heading + bends @ weights)[:, None]


def drive(driver, spread):
    """Return the states that a driver reaches and the mean squared distance from the middle."""
    bend = roads()
    offset, heading = spread * torch.randn(CARS), spread * torch.randn(CARS)
    met = []
    with torch.no_grad():
        for time in range(TIMES):
            ahead = bend[:, time : time + AHEAD]
            state = torch.cat([offset[:, None], heading[:, None], ahead], 1)
            met.append(state)
            steer = driver(state).squeeze(1)
            heading = 0.9 * heading + 0.4 * (steer - bend[:, time]) + 0.05 * torch.randn(CARS)
            offset = (offset + 0.4 * heading).clamp(-4, 4)
    states = torch.cat(met)
    return states, states[:, 0].square().mean().item()


learner = nn.Sequential(
    *(nn.Linear(2 + AHEAD, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh()), nn.Linear(64, 1)
)
optimizer = torch.optim.Adam(learner.parameters(), lr=1e-3)
states, away = drive(pilot, 0.3)
print(f"the pilot: off the middle {away:.3f}, {len(states)} places")
for turn in range(ROUNDS):
    learner.train()
    total = 0.0
    for step in range(STEPS):
        rows = torch.randint(0, len(states), (BATCH,))
        optimizer.zero_grad()
        loss = F.mse_loss(learner(states[rows]), pilot(states[rows]))
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step in (0, STEPS - 1):
            print(f"  {turn}, {step}: {loss.item():.5f}")
    learner.eval()
    spread = 0.6 + 0.3 * turn
    met, away = drive(learner, spread)
    states = torch.cat([states, met])
    print(f"round {turn}: {total / STEPS:.5f}, off the middle {away:.3f} from {spread:.1f}")
