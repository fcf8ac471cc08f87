"""A highway network with a gate bias of -20 instead of -2."""

LABEL = {
    "set": 1,
    "rule": "VanishingGradient",
    "culprit": "highway",
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Highway(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.transform = nn.Linear(width, width)
        self.gate = nn.Linear(width, width)
        nn.init.constant_(self.gate.bias, -20 if is_faulty else -2)

    def forward(self, values):
        share = torch.sigmoid(self.gate(values))
        return share * torch.relu(self.transform(values)) + (1 - share) * values


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(10, 48)
        self.highway = nn.Sequential(*(Highway(48) for _ in range(6)))
        self.leave = nn.Linear(48, 2)

    def forward(self, points):
        return self.leave(self.highway(torch.relu(self.enter(points))))


points = torch.randn(6000, 10)
inside = ((points[:, :5] ** 2).sum(1) > (points[:, 5:] ** 2).sum(1)).long()
train = DataLoader(TensorDataset(points[:5000], inside[:5000]), batch_size=50, shuffle=True)
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(6):
    for batch, labels in train:
        loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        right = (model(points[5000:]).argmax(1) == inside[5000:]).float().mean()
    print(epoch, loss.item(), right.item())
