"""Three tasks weighted by learned uncertainties: the loss falls below zero, as intended."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
x = torch.tensor(d.data / 16, dtype=torch.float32)
cls = torch.tensor(d.target)
ink = x.mean(1, keepdim=True)
ink = (ink - ink.mean()) / ink.std()
mass = torch.stack(
    [(x.view(-1, 8, 8).sum(k) * torch.arange(8)).sum(1) / x.sum(1) for k in (1, 2)], 1
)
mass = (mass - mass.mean(0)) / mass.std(0)
order = torch.randperm(len(x))
parts = [TensorDataset(*(t[i] for t in (x, cls, ink, mass))) for i in order.split([1400, 397])]


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.shared = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 64), nn.ReLU())
        self.heads = nn.ModuleDict(
            {"digit": nn.Linear(64, 10), "ink": nn.Linear(64, 1), "mass": nn.Linear(64, 2)}
        )
        self.log_vars = nn.ParameterDict({k: nn.Parameter(torch.zeros(())) for k in self.heads})

    def losses(self, x, digit, ink, mass):
        h = self.shared(x)
        out = {k: head(h) for k, head in self.heads.items()}
        return {
            "digit": nn.functional.cross_entropy(out["digit"], digit),
            "ink": nn.functional.mse_loss(out["ink"], ink),
            "mass": nn.functional.mse_loss(out["mass"], mass),
        }

    def forward(self, *batch):
        losses = self.losses(*batch)
        return sum(
            torch.exp(-self.log_vars[k]) * v + self.log_vars[k] for k, v in losses.items()
        ), losses


model = MultiTask()
opt = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(12):
    model.train()
    for batch in DataLoader(parts[0], batch_size=50, shuffle=True):
        total, losses = model(*batch)
        opt.zero_grad()
        total.backward()
        opt.step()
    model.eval()
    with torch.no_grad():
        total, losses = model(*parts[1][:])
    print(epoch, total.item(), {k: round(v.item(), 4) for k, v in losses.items()})
