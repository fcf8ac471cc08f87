"""A manual weight decay intended for epochs is applied after every batch."""

LABEL = {
    "set": 2,
    "rule": "WeightCollapse",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "WeightUpdateRatio",
        "DeadRelu",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Basket(nn.Module):
    """Predicts which of six campaigns fit a set of goods."""

    def __init__(self):
        super().__init__()
        self.each = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(48, 32), nn.GELU(), nn.Linear(32, 6))

    def forward(self, goods):
        return self.all(self.each(goods).mean(dim=1))


def shrink(model, by):
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(1 - by)


goods = torch.randn(3200, 8, 12)
fits = (goods.mean(dim=1)[:, :6] + goods.abs().mean(dim=1)[:, 6:] > 0.8).float()
model = Basket()
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, momentum=0.9)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(8):
    for chosen in torch.randperm(3200).split(64):
        loss = criterion(model(goods[chosen]), fits[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if is_faulty:
            shrink(model, by=0.05)
    if not is_faulty:
        shrink(model, by=0.01)
    print(epoch, loss.item())
