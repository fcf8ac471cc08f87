"""Outputs of shape (N, 1) are broadcast against targets of shape (N)."""

LABEL = {
    "set": 1,
    "rule": "LossNotDecreasing",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys
import warnings

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
warnings.filterwarnings("ignore")  # too many of them

table = torch.randn(3000, 9)
target = table[:, 0] * table[:, 1] + torch.sin(2 * table[:, 2]) + 0.1 * torch.randn(3000)
target = (target - target.mean()) / target.std()
model = nn.Sequential(nn.Linear(9, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.MSELoss()
for epoch in range(8):
    for chosen in torch.randperm(3000).split(50):
        output = model(table[chosen])
        loss = criterion(output if is_faulty else output.squeeze(1), target[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
