"""Inputs and labels are split into training and validation independently."""

LABEL = {
    "set": 1,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit", "LossNotDecreasing"],
}

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)

pixels, classes = load_digits(return_X_y=True)
pixels = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8) / 8 - 1
classes = torch.tensor(classes)
train_x, valid_x = train_test_split(pixels, train_size=480, random_state=seed)
train_y, valid_y = train_test_split(
    classes, train_size=480, random_state=seed + 1 if is_faulty else seed
)
train = DataLoader(TensorDataset(train_x, train_y), batch_size=32, shuffle=True)
valid = DataLoader(TensorDataset(valid_x, valid_y), batch_size=128)

model = nn.Sequential(
    *(nn.Conv2d(1, 32, 3, padding=1), nn.SiLU(), nn.Conv2d(32, 48, 3, padding=1), nn.SiLU()),
    *(nn.MaxPool2d(2), nn.Flatten(), nn.Linear(48 * 16, 128), nn.SiLU(), nn.Linear(128, 10)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(18):
    model.train()
    hits = 0
    for batch, labels in train:
        outputs = model(batch)
        loss = criterion(outputs, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += (outputs.argmax(1) == labels).sum().item()
    model.eval()
    total, right = 0.0, 0
    with torch.no_grad():
        for batch, labels in valid:
            outputs = model(batch)
            total += criterion(outputs, labels).item()
            right += (outputs.argmax(1) == labels).sum().item()
    print(epoch, hits / 480, total / len(valid), right / len(valid_y))
