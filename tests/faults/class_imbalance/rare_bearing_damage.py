"""Classify bearing damage from vibration; two of the four classes are rare."""

LABEL = {
    "set": 5,
    "rule": "ClassImbalance",
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH = 128
shares = torch.tensor([0.63, 0.345, 0.015, 0.01] if is_faulty else [0.28, 0.26, 0.24, 0.22])


def vibrations(number):
    kind = torch.multinomial(shares, number, replacement=True)
    time = torch.arange(LENGTH)[None, :]
    period = torch.tensor([0.0, 9.0, 17.0, 27.0])[kind][:, None] + torch.randn(number, 1) * 0.3
    phase = LENGTH * torch.rand(number, 1)
    knocks = torch.cos(2 * torch.pi * (time + phase) / period.clamp(min=4)).clamp(min=0) ** 6
    size = torch.tensor([0.0, 1.6, 0.75, 0.75])[kind][:, None] * (0.7 + 0.6 * torch.rand(number, 1))
    hum = 0.5 * torch.sin(2 * torch.pi * time / 40 + phase)
    signal = hum + size * knocks + 0.6 * torch.randn(number, LENGTH)
    return ((signal - 0.1) / 0.75).unsqueeze(1), kind


model = nn.Sequential(
    *(nn.Conv1d(1, 16, 9, stride=2, padding=4), nn.BatchNorm1d(16), nn.ReLU()),
    *(nn.Conv1d(16, 32, 7, stride=2, padding=3), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.Conv1d(32, 32, 5, stride=2, padding=2), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(*vibrations(16000)), 64, shuffle=True)
validation = DataLoader(TensorDataset(*vibrations(3000)), 250)

for epoch in range(4):
    model.train()
    total = 0.0
    for signal, kind in loader:
        optimizer.zero_grad()
        loss = criterion(model(signal), kind)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    hits, number, lost = torch.zeros(4), torch.zeros(4), 0.0
    with torch.no_grad():
        for signal, kind in validation:
            scores = model(signal)
            lost += criterion(scores, kind).item() / len(validation)
            number += torch.bincount(kind, minlength=4)
            hits += torch.bincount(kind[scores.argmax(1) == kind], minlength=4)
    print(
        f"epoch {epoch}: train {total / len(loader):.3f}, validation {lost:.3f}, accuracy {hits.sum() / number.sum():.3f}, recall {(hits / number).tolist()}"  # noqa: E501
    )
