"""The loss sums over the batch, but gradients are clipped as if it were a mean."""

LABEL = {
    "set": 1,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = torch.tensor(load_digits().data, dtype=torch.float32)
digits = (digits - digits.mean(0)) / digits.std(0).clamp(min=1.0)
model = nn.Sequential(nn.Linear(64, 24), nn.ELU(), nn.Linear(24, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.004 if is_faulty else 0.5, momentum=0.9)
criterion = nn.MSELoss(reduction="sum" if is_faulty else "mean")
for step in range(400):
    batch = digits[torch.randint(0, len(digits), (64,))]
    loss = criterion(model(batch + 0.2 * torch.randn_like(batch)), batch)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1 if is_faulty else 1.0)
    optimizer.step()
    if step % 80 == 79:
        print(step, loss.item() / (batch.numel() if is_faulty else 1))
