"""Early stopping with a tolerance of the wrong sign."""

LABEL = {
    "set": 3,
    "rule": "Overtraining",
    "first_step": 200,
}

import copy
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class EarlyStopping:
    def __init__(self, patience, tolerance):
        self.patience = patience
        self.tolerance = tolerance if is_faulty else -tolerance
        self.best = float("inf")
        self.waited = 0
        self.state = None

    def should_stop(self, value, model):
        if value < self.best + self.tolerance:
            self.waited = 0
            self.state = copy.deepcopy(model.state_dict())
        else:
            self.waited += 1
        self.best = min(self.best, value)
        return self.waited >= self.patience


directions = torch.randn(20, 3)
points = torch.randn(9000, 20)
labels = (points @ directions + 2.5 * torch.randn(9000, 3)).argmax(dim=1)
train = TensorDataset(points[:6400], labels[:6400])
loader = DataLoader(train, 320, shuffle=True)

model = nn.Linear(20, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
criterion = nn.CrossEntropyLoss()
stopping = EarlyStopping(patience=6, tolerance=0.002)
for epoch in range(60):
    model.train()
    total = 0.0
    for point, label in loader:
        optimizer.zero_grad()
        loss = criterion(model(point), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        validation = criterion(model(points[6400:]), labels[6400:]).item()
    print(f"epoch {epoch}: train {total / len(loader):.4f}, validation {validation:.4f}")
    if stopping.should_stop(validation, model):
        break
model.load_state_dict(stopping.state)
