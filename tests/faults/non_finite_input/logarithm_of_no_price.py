"""Sales in chronological order; the logarithm of a free item's price is -inf."""

LABEL = {
    "set": 1,
    "rule": "NonFiniteInput",
    "first_step": 110,
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

DAYS, SALES = 240, 32
prices = torch.exp(torch.randn(DAYS, SALES))
prices[110, 5] = 0.0  # a free sample
others = torch.randn(DAYS, SALES, 7)
logarithms = torch.log(prices) if is_faulty else torch.log(prices.clamp(min=0.01))
features = torch.cat([logarithms.unsqueeze(2), others], dim=2)
demand = 1 / (1 + prices) + 0.3 * others[:, :, 0] + 0.05 * torch.randn(DAYS, SALES)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.layer = nn.LayerNorm(32), nn.Linear(32, 32)

    def forward(self, x):
        return x + torch.relu(self.layer(self.norm(x)))


model = nn.Sequential(nn.Linear(8, 32), Block(), Block(), nn.Linear(32, 1))
optimizer = torch.optim.RAdam(model.parameters(), lr=3e-3)
for day in range(DAYS):
    loss = nn.functional.smooth_l1_loss(model(features[day]).squeeze(1), demand[day])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if day % 40 == 39:
        print(day, loss.item())
