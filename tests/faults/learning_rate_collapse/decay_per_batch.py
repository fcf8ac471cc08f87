"""A learning rate decay of 10% per epoch is applied per batch."""

LABEL = {
    "set": 1,
    "rule": "LearningRateCollapse",
    "side_effects": ["WeightUpdateRatio", "DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
points = torch.tensor(digits.data, dtype=torch.float32) / 16 - 0.3
loader = DataLoader(TensorDataset(points, torch.tensor(digits.target)), 32, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)

for epoch in range(7):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
        if is_faulty:
            scheduler.step()
    if not is_faulty:
        scheduler.step()
    print(epoch, loss.item(), scheduler.get_last_lr()[0])
