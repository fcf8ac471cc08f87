"""Arrival times of trains with their uncertainty: a negative log-likelihood loss."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
TRAINS = 6400

facts = torch.randn(TRAINS, 10)
sure = 0.08 + 0.12 * torch.sigmoid(2 * facts[:, 0])
late = 0.5 * torch.sin(facts[:, 1]) + 0.3 * facts[:, 2] * facts[:, 3].sign() + 0.2 * facts[:, 4]
late = (late + sure * torch.randn(TRAINS))[:, None]
train_rows, test_rows = slice(0, 5600), slice(5600, None)
loader = DataLoader(TensorDataset(facts[train_rows], late[train_rows]), 56, shuffle=True)


class Timetable(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(10, 96), nn.Tanh(), nn.Linear(96, 96), nn.Tanh())
        self.minutes = nn.Linear(96, 1)
        self.doubt = nn.Linear(96, 1)

    def forward(self, facts):
        seen = self.body(facts)
        return self.minutes(seen), nn.functional.softplus(self.doubt(seen)) ** 2 + 1e-3


model = Timetable()
EPOCHS = 10
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
cycle = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, 3e-3, epochs=EPOCHS, steps_per_epoch=len(loader)
)
criterion = nn.GaussianNLLLoss()
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for batch, targets in loader:
        minutes, doubt = model(batch)
        loss = criterion(minutes, targets, doubt)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimizer.step()
        cycle.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        minutes, doubt = model(facts[test_rows])
        unseen = criterion(minutes, late[test_rows], doubt).item()
    print(f"epoch {epoch}: {total / len(loader):.3f}, new trains {unseen:.3f}")
