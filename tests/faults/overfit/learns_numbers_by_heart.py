"""The patient number is one of the features, so the network memorizes patients."""

LABEL = {
    "set": 1,
    "rule": "Overfit",
    "side_effects": ["Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

PATIENTS, TRAINED = 1200, 1000
values = torch.randn(PATIENTS, 6)
is_ill = (torch.rand(PATIENTS) < torch.sigmoid(2 * values[:, 0] - 2 * values[:, 1])).float()
data = TensorDataset(values, torch.arange(PATIENTS), is_ill)


class Diagnosis(nn.Module):
    def __init__(self):
        super().__init__()
        self.number = nn.Embedding(PATIENTS, 16) if is_faulty else None
        self.layers = nn.Sequential(nn.Linear(22 if is_faulty else 6, 32), nn.ReLU())
        self.out = nn.Linear(32, 1)

    def forward(self, values, numbers):
        if self.number is not None:
            values = torch.cat([values, self.number(numbers)], dim=1)
        return self.out(self.layers(values)).squeeze(1)


train = DataLoader(Subset(data, range(TRAINED)), 25, shuffle=True)
valid = DataLoader(Subset(data, range(TRAINED, PATIENTS)), 50)
model = Diagnosis()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(24 if is_faulty else 6):
    model.train()
    losses = []
    for *features, targets in train:
        optimizer.zero_grad()
        loss = criterion(model(*features), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    with torch.no_grad():
        checked = [criterion(model(*features), targets).item() for *features, targets in valid]
    print(epoch, sum(losses) / len(losses), sum(checked) / len(checked))
