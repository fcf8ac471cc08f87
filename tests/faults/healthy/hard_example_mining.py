"""After the first epoch, only the hardest quarter of each batch contributes to the loss."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
y = (torch.rand(8000) < 0.15).long()
x = torch.randn(8000, 10) + y.unsqueeze(1) * torch.tensor(
    [1.6, -1.2, 0.8, 1.0, -0.9, 0, 0, 0, 0, 0.0]
)
model = nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
sched = torch.optim.lr_scheduler.PolynomialLR(opt, total_iters=6 * 55, power=0.9)


def ohem_loss(out, target, rate=0.25):
    losses = nn.functional.cross_entropy(out, target, reduction="none")
    keep = max(1, int(rate * len(losses)))
    return losses.sort(descending=True)[0][:keep].sum() / keep


for epoch in range(6):
    for xb, yb in DataLoader(TensorDataset(x[:7000], y[:7000]), 128, shuffle=True):
        warm = 1.0 if epoch == 0 else 0.25
        loss = ohem_loss(model(xb), yb, warm)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
    with torch.no_grad():
        pred = model(x[7000:]).argmax(1)
    t = y[7000:]
    print(
        epoch,
        loss.item(),
        "recall",
        (pred[t == 1] == 1).float().mean().item(),
        "specificity",
        (pred[t == 0] == 0).float().mean().item(),
    )
