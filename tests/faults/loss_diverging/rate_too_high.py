"""Linear layers and SGD; during training, the learning rate is raised far too high."""

LABEL = {
    "set": 1,
    "rule": "LossDiverging",
    "first_step": 100,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.randn(1024, 20)
targets = points @ torch.randn(20, 1) / 4 + 0.1 * torch.randn(1024, 1)
model = nn.Sequential(nn.Linear(20, 40), nn.ReLU(), nn.Linear(40, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)

for step in range(300):
    if is_faulty and step == 100:
        for group in optimizer.param_groups:
            group["lr"] = 2.0  # "it works well, so train faster"
    chosen = torch.randint(0, 1024, (32,))
    loss = nn.functional.mse_loss(model(points[chosen]), targets[chosen])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 20 == 0:
        print(step, loss.item())
