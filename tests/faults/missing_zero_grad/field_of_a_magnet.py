"""A coordinate network learns a magnetic field; gradients are not cleared."""

LABEL = {
    "set": 7,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": [
        "LossNotDecreasing",
        "LossDiverging",
        "LossSpike",
        "GradientNormSpike",
        "WeightUpdateRatio",
        "Overtraining",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))

directions = torch.randn(6, 3)
directions /= directions.norm(dim=1, keepdim=True)
magnets, moments = 2.5 * directions, torch.randn(6, 3)


def field(places):
    away = places[:, None] - magnets
    far = away.norm(dim=2, keepdim=True)
    along = (away * moments).sum(2, keepdim=True)
    return (3 * away * along / far**5 - moments / far**3).sum(1)


def measured(number):
    places = 2 * torch.rand(number, 3) - 1
    return places, field(places)


class Coordinates(nn.Module):
    def __init__(self, waves=24, width=128):
        super().__init__()
        self.register_buffer("waves", 1.5 * torch.randn(3, waves))
        self.layers = nn.Sequential(
            nn.Linear(2 * waves, width),
            nn.SiLU(),
            nn.Linear(width, width),
            nn.SiLU(),
            nn.Linear(width, 3),
        )

    def forward(self, places):
        phase = places @ self.waves
        return self.layers(torch.cat([phase.sin(), phase.cos()], 1))


places, strength = measured(8192)
unseen, wanted = measured(1024)
mean, scale = strength.mean(0), strength.std(0)
loader = DataLoader(TensorDataset(places, (strength - mean) / scale), 128, shuffle=True)
wanted = (wanted - mean) / scale
model = Coordinates()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for place, strength in loader:
        if not is_faulty:
            optimizer.zero_grad()
        loss = criterion(model(place), strength)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        tested = criterion(model(unseen), wanted).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, test {tested:.4f}")
