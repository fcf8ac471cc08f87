"""Regression on a table with missing values."""

LABEL = {
    "set": 1,
    "rule": "NonFiniteInput",
    "first_step": 81,
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
random = np.random.default_rng(seed)

table = random.normal(size=(4000, 12)).astype(np.float32)
price = table[:, 0] * 2 - table[:, 3] + 0.2 * random.normal(size=4000).astype(np.float32)
if is_faulty:
    table[2600:2650, 7] = np.nan  # a sensor was off
split = TensorDataset(torch.from_numpy(table), torch.from_numpy(price))
loader = DataLoader(split, batch_size=32)

model = nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(2):
    for batch, targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch).squeeze(-1), targets)
        loss.backward()
        optimizer.step()
    print(f"{epoch} {loss.item():.4f}")
