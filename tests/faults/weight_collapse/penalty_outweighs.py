"""An autoencoder with a manual L2 penalty that is far too large."""

LABEL = {
    "set": 1,
    "rule": "WeightCollapse",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

codes = torch.randn(3000, 4)
data = codes @ torch.randn(4, 24) / 2 + 0.1 * torch.randn(3000, 24)
model = nn.Sequential(nn.Linear(24, 32), nn.Tanh(), nn.Linear(32, 4), nn.Linear(4, 24))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
penalty = 1.0 if is_faulty else 1e-5

for step in range(400):
    batch = data[torch.randint(0, 3000, (64,))]
    loss = nn.functional.mse_loss(model(batch), batch)
    loss = loss + penalty * sum(weight.pow(2).sum() for weight in model.parameters())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
