"""Two models are trained together; the gradients of the first one are cleared twice."""

LABEL = {
    "set": 1,
    "rule": "MissingZeroGrad",
    "culprit": "1",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["STARTS_BADLY"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
points = torch.tensor(digits.data, dtype=torch.float32) / 16
points = points - points.mean(0)
loader = DataLoader(TensorDataset(points, torch.tensor(digits.target)), 32, shuffle=True)

small = nn.Sequential(nn.Linear(64, 16), nn.ReLU(), nn.Linear(16, 10))
large = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))
small_optimizer = torch.optim.SGD(small.parameters(), lr=0.05)
large_optimizer = torch.optim.SGD(large.parameters(), lr=0.05)

for epoch in range(4):
    for batch, labels in loader:
        small_optimizer.zero_grad()
        if is_faulty:
            small_optimizer.zero_grad()
        else:
            large_optimizer.zero_grad()
        small_loss = nn.functional.cross_entropy(small(batch), labels)
        small_loss.backward()
        small_optimizer.step()
        large_loss = nn.functional.cross_entropy(large(batch), labels)
        large_loss.backward()
        large_optimizer.step()
    print(epoch, small_loss.item(), large_loss.item())
