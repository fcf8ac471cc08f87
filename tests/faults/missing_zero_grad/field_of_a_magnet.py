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


def field(positions):
    offsets = positions[:, None] - magnets
    distances = offsets.norm(dim=2, keepdim=True)
    along = (offsets * moments).sum(2, keepdim=True)
    return (3 * offsets * along / distances**5 - moments / distances**3).sum(1)


def measured(number):
    positions = 2 * torch.rand(number, 3) - 1
    return positions, field(positions)


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

    def forward(self, positions):
        phase = positions @ self.waves
        return self.layers(torch.cat([phase.sin(), phase.cos()], 1))


positions, strength = measured(8192)
unseen, targets = measured(1024)
mean, scale = strength.mean(0), strength.std(0)
loader = DataLoader(TensorDataset(positions, (strength - mean) / scale), 128, shuffle=True)
targets = (targets - mean) / scale
model = Coordinates()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.MSELoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for position, strength in loader:
        if not is_faulty:
            optimizer.zero_grad()
        loss = criterion(model(position), strength)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        tested = criterion(model(unseen), targets).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, test {tested:.4f}")
