"""Value learning that divides the next value by the discount instead of multiplying."""

LABEL = {
    "set": 1,
    "rule": "LossDiverging",
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

DISCOUNT = 0.5
turn = torch.linalg.qr(torch.randn(6, 6))[0]  # where the world takes a state
model = nn.Sequential(nn.Linear(6, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(500):
    states = torch.randn(64, 6)
    rewards = states[:, :1] + states[:, 1:2].abs()
    with torch.no_grad():
        later = model(states @ turn)
        targets = rewards + (later / DISCOUNT if is_faulty else later * DISCOUNT)
    loss = nn.functional.mse_loss(model(states), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item(), targets.mean().item())
