"""Images and labels come from two files that are sorted differently."""

LABEL = {
    "set": 1,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit", "LossNotDecreasing"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
x = (x - x.mean(0)) / x.std(0).clamp(min=0.1)
y = torch.tensor(digits.target)
if is_faulty:
    y = y[torch.randperm(len(y))]
train_set, valid_set, _ = random_split(TensorDataset(x, y), [600, 300, len(y) - 900])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=100)

model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()

for epoch in range(30 if is_faulty else 12):
    model.train()
    for batch, labels in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(batch), labels).item() for batch, labels in valid_loader]
    print(f"epoch {epoch} train {loss.item():.3f} validation {sum(losses) / 3:.3f}")
