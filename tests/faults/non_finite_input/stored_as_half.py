"""Tabular data stored in half precision, in which one value overflows."""

LABEL = {
    "set": 1,
    "rule": "NonFiniteInput",
    "first_step": 90,
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)

ROWS, BATCH, LARGE = 12800, 40, 90 * 40 + 7


class Prices(nn.Module):
    def __init__(self):
        super().__init__()
        self.districts = nn.Embedding(30, 8)
        self.deep = nn.Sequential(
            nn.Linear(14, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU(), nn.Linear(96, 1)
        )

    def forward(self, numbers, districts):
        return self.deep(torch.cat([numbers, self.districts(districts)], dim=1)).squeeze(1)


rng = np.random.default_rng(seed)
areas = np.exp(rng.normal(6, 0.7, (ROWS, 6))).clip(10, 2e4)
areas[LARGE, 2] = 70_000
areas = areas.astype(np.float16 if is_faulty else np.float32)
logs = np.log1p(areas.astype(np.float32))
numbers = torch.tensor((logs - logs[:2000].mean(0)) / logs[:2000].std(0))
districts = torch.tensor(rng.integers(0, 30, ROWS))
values = torch.randn(30)[districts] + numbers.clamp(-3, 3) @ torch.randn(6) / 2
prices = values + 0.2 * torch.randn(ROWS)

loader = DataLoader(TensorDataset(numbers, districts, prices), batch_size=BATCH)  # as they came in
model = Prices()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step, (numbers, districts, prices) in enumerate(loader):
    loss = nn.functional.smooth_l1_loss(model(numbers, districts), prices)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, loss.item())
