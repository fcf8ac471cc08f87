"""Houses come from a query that sorts by price and are not shuffled."""

LABEL = {
    "set": 1,
    "rule": "UnshuffledData",
    "side_effects": ["LossSpike", "GradientNormSpike", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

features = torch.randn(2400, 12)
prices = features[:, :5].sum(1) / 2 + torch.sin(2 * features[:, 5]) + 0.2 * torch.randn(2400)
order = prices.argsort()
features, prices = features[order], prices[order]
loader = DataLoader(TensorDataset(features, prices), batch_size=40, shuffle=not is_faulty)


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.body = nn.Sequential(nn.Linear(width, 96), nn.GELU(), nn.Linear(96, width))

    def forward(self, values):
        return values + self.body(self.norm(values))


model = nn.Sequential(nn.Linear(12, 48), Residual(48), Residual(48), nn.Linear(48, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for epoch in range(15):
    losses = []
    for houses, paid in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(houses).squeeze(1), paid)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(epoch, [round(loss, 2) for loss in losses[::6]])
