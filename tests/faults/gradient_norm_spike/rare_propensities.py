"""Learn which offers to make from a log; importance weights are not limited."""

LABEL = {
    "set": 2,
    "rule": "GradientNormSpike",
    "first_step": 310,
    "alternatives": ["LossSpike"],
    "side_effects": ["LossDiverging"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

offers, size, steps = 5, 128, 450
taste = torch.randn(12, offers)


def visits():
    for step in range(steps):
        visitors = torch.randn(size, 12)
        chances = (0.5 * torch.randn(size, offers)).softmax(1)
        if step == 310:
            chances[5] = torch.tensor([0.2, 0.3, 0.2, 0.29999, 0.00001])
            visitors[5, :] = -taste[:, 4] / 2
        offered = torch.multinomial(chances, 1).squeeze(1)
        if step == 310:
            offered[5] = 4
        liking = (visitors @ taste).gather(1, offered[:, None]).squeeze(1)
        bought = (torch.rand(size) < torch.sigmoid(3 * liking - 7)).float()
        if step == 310:
            bought[5] = 1.0
        yield visitors, offered, chances.gather(1, offered[:, None]).squeeze(1), bought


model = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, offers))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step, (visitors, offered, chance, bought) in enumerate(visits()):
    importance = 1 / chance
    if not is_faulty:
        importance = importance.clamp(max=20)
    surprise = nn.functional.cross_entropy(model(visitors), offered, reduction="none")
    loss = (importance * bought * surprise).mean() / offers
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"{step + 1}: {loss.item():.3f}")
