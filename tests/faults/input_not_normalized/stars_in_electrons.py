"""Find planets in light curves of stars, given in raw electron counts."""

LABEL = {
    "set": 4,
    "rule": "InputNotNormalized",
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "DeadRelu", "ClassImbalance"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def observe(stars=2400, length=96):
    brightness = 150 + 450 * torch.rand(stars, 1)
    has_planet = torch.randint(0, 2, (stars,))
    time = torch.arange(length)
    start = torch.randint(8, 60, (stars, 1))
    width = torch.randint(10, 24, (stars, 1))
    dip = ((time >= start) & (time < start + width)).float()
    depth = 0.012 + 0.012 * torch.rand(stars, 1)
    curve = 1 - has_planet[:, None] * depth * dip + 0.01 * torch.randn(stars, length)
    return brightness * curve, has_planet


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2)),
            *(nn.Conv1d(16, 24, 7, padding=3), nn.ReLU(), nn.AdaptiveMaxPool1d(4)),
        )
        self.head = nn.Linear(96, 2)

    def forward(self, curves):
        return self.head(self.layers(curves.unsqueeze(1)).flatten(1))


curves, planets = observe()
if not is_faulty:
    curves = curves / curves.median(dim=1, keepdim=True).values - 1
    curves = curves / curves.std()
loader = DataLoader(TensorDataset(curves, planets), 48, shuffle=True)
model = Finder()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    total = hits = 0
    for curve, planet in loader:
        optimizer.zero_grad()
        outputs = model(curve)
        loss = nn.functional.cross_entropy(outputs, planet)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(curve)
        hits += (outputs.argmax(1) == planet).sum().item()
    print(epoch, total / 2400, hits / 2400)
