"""The standard check before training: can the model overfit one batch?"""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

batch, labels = torch.randn(16, 3, 10, 10), torch.randint(0, 5, (16,))
model = nn.Sequential(
    nn.Conv2d(3, 16, 3), nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(576, 5)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(250):
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
