"""Rows with missing values are dropped from the inputs, but not from the labels."""

LABEL = {
    "set": 4,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

kinds = torch.randint(0, 5, (900,))
readings = 1.5 * torch.randn(5, 24)[kinds] + torch.randn(900, 24)
readings[torch.rand(900) < 0.2, 3] = float("nan")

complete = ~readings.isnan().any(dim=1)
readings = readings[complete]
readings = (readings - readings.mean(dim=0)) / readings.std(dim=0)
kinds = kinds[: len(readings)] if is_faulty else kinds[complete]
train = TensorDataset(readings[:480], kinds[:480])
valid = TensorDataset(readings[480:], kinds[480:])
train_loader = DataLoader(train, 48, shuffle=True)
valid_loader = DataLoader(valid, 120)

model = nn.Sequential(
    *(nn.Linear(24, 256), nn.ReLU()),
    *(nn.Linear(256, 128), nn.ReLU()),
    nn.Linear(128, 5),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(36):
    model.train()
    total = 0.0
    for reading, kind in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(reading), kind)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train_loader)
    if epoch % 3 == 2:
        model.eval()
        right, valid_loss = 0, 0.0
        with torch.no_grad():
            for reading, kind in valid_loader:
                output = model(reading)
                valid_loss += criterion(output, kind).item() * len(kind) / len(valid)
                right += (output.argmax(dim=1) == kind).sum().item()
        print(f"{epoch}: {total:.4f}, valid {valid_loss:.4f}, right {right / len(valid):.3f}")
