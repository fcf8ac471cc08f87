"""Predict the next product of a customer; labels are shifted by one row."""

LABEL = {
    "set": 6,
    "rule": "LabelsUnrelated",
    "first_step": 200,
    "side_effects": ["Overfit", "Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
CUSTOMERS, TRAITS = 1100, 32

group = torch.randint(0, 12, (CUSTOMERS,))
traits = 0.7 * torch.randn(12, TRAITS)[group] + torch.randn(CUSTOMERS, TRAITS)
traits = (traits - traits.mean(0)) / traits.std(0)
bought = group % 4
if is_faulty:
    bought = bought.roll(1)  # the list has a header line, the table does not
split = torch.randperm(CUSTOMERS)
train_rows, test_rows = split[:800], split[800:]

loader = DataLoader(TensorDataset(traits[train_rows], bought[train_rows]), 40, shuffle=True)
model = nn.Sequential(nn.Linear(TRAITS, 256), nn.ReLU(), nn.Dropout(0.1), nn.Linear(256, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.3)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
for epoch in range(45):
    model.train()
    hits, total = 0, 0.0
    for batch, targets in loader:
        scores = model(batch)
        loss = criterion(scores, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (scores.argmax(1) == targets).sum().item()
        total += loss.item()
    if epoch % 5 == 4:
        model.eval()
        with torch.no_grad():
            scores = model(traits[test_rows])
            unseen = criterion(scores, bought[test_rows]).item()
            right = (scores.argmax(1) == bought[test_rows]).float().mean().item()
        print(
            f"epoch {epoch}: train {total / len(loader):.3f} ({hits / len(train_rows):.0%}),"
            f" new customers {unseen:.3f} ({right:.0%})"
        )
