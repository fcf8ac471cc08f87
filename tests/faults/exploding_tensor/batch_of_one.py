"""A custom normalization; the last batch of an epoch has one row and thus no deviation."""

LABEL = {
    "set": 1,
    "rule": "ExplodingTensor",
    "first_step": 40,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Whiten(nn.Module):
    def forward(self, x):
        return (x - x.mean(0)) / (x.std(0) + 1e-5)


points = torch.randn(32 * 40 + 1, 14)
labels = (points[:, 0] * points[:, 1] > 0).float()
loader = DataLoader(TensorDataset(points, labels), 32, shuffle=True, drop_last=not is_faulty)
model = nn.Sequential(
    nn.Linear(14, 64), Whiten(), nn.ELU(), nn.Linear(64, 32), Whiten(), nn.ELU(), nn.Linear(32, 1)
)
optimizer = torch.optim.Adamax(model.parameters(), lr=5e-3)
for epoch in range(6):
    for batch, targets in loader:
        optimizer.zero_grad()
        output = model(batch).squeeze(1)
        loss = nn.functional.binary_cross_entropy_with_logits(output, targets)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
