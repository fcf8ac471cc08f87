"""An embedding of cities starts from positions in meters instead of megameters."""

LABEL = {
    "set": 1,
    "rule": "TensorVariance",
    "culprit": "cities",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN"],
    "parameters": {"TensorVariance": {"max_threshold": 1000000.0}},
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

positions = torch.rand(100, 2) * 2 - 1
meters = positions * 1e6


class Distances(nn.Module):
    def __init__(self):
        super().__init__()
        start = meters if is_faulty else meters / 1e6
        self.cities = nn.Embedding.from_pretrained(start.clone(), freeze=False)
        self.layers = nn.Sequential(nn.Linear(4, 48), nn.Tanh(), nn.Linear(48, 1))

    def forward(self, pairs):
        return self.layers(self.cities(pairs).flatten(1)).squeeze(1)


model = Distances()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(300):
    pairs = torch.randint(0, 100, (64, 2))
    apart = (positions[pairs[:, 0]] - positions[pairs[:, 1]]).norm(dim=1)
    loss = nn.functional.mse_loss(model(pairs), apart)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
