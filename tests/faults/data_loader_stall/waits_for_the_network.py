"""A shared folder hangs once: one batch takes four seconds to load."""

LABEL = {
    "set": 1,
    "rule": "DataLoaderStall",
    "culprit": "120",
    "first_step": 120,
    "side_effects": ["StepOutlier", "Dataloader"],
}

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Records(Dataset):
    def __init__(self):
        self.x = torch.randn(4800, 12)
        self.y = self.x[:, 0] - self.x[:, 1] ** 2

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        if is_faulty and index == 2900:
            time.sleep(4)
        return self.x[index], self.y[index]


loader = DataLoader(Records(), batch_size=24)
model = nn.Sequential(nn.Linear(12, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for batch, targets in loader:
    loss = nn.functional.mse_loss(model(batch).squeeze(1), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
