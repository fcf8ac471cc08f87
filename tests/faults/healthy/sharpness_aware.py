"""Sharpness-aware minimization: two backward passes, the second at perturbed weights."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))


class Sharpness(torch.optim.Optimizer):
    def __init__(self, params, base, radius=0.05, **options):
        super().__init__(params, {"radius": radius, **options})
        self.base = base(self.param_groups, **options)
        self.param_groups = self.base.param_groups

    @torch.no_grad()
    def climb(self):
        weights = [parameter for group in self.param_groups for parameter in group["params"]]
        norm = torch.stack([parameter.grad.norm() for parameter in weights]).norm()
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter]["push"] = push = (
                    parameter.grad * group["radius"] / (norm + 1e-12)
                )
                parameter.add_(push)
        self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for parameter in group["params"]:
                parameter.sub_(self.state[parameter]["push"])
        self.base.step()
        self.zero_grad()


points = torch.randn(3000, 12)
kinds = (points @ torch.randn(12, 4) + torch.tanh(points[:, :4]) * points[:, 4:8]).argmax(1)
train = DataLoader(TensorDataset(points[:2500], kinds[:2500]), batch_size=50, shuffle=True)
model = nn.Sequential(
    nn.Linear(12, 128),
    nn.BatchNorm1d(128),
    nn.ReLU(),
    nn.Linear(128, 64),
    nn.ReLU(),
    nn.Linear(64, 4),
)
optimizer = Sharpness(model.parameters(), torch.optim.SGD, lr=0.05, momentum=0.9)
for epoch in range(8):
    model.train()
    for batch, labels in train:
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.climb()
        nn.functional.cross_entropy(model(batch), labels).backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        right = (model(points[2500:]).argmax(1) == kinds[2500:]).float().mean()
    print(epoch, loss.item(), right.item())
