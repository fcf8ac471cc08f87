"""Classify heartbeats of very few patients; the network memorizes each of them."""

LABEL = {
    "set": 3,
    "rule": "Overfit",
    "first_step": 60,
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH = 96


def beats(number):
    kind = torch.arange(number) % 2
    kind = kind[torch.randperm(number)]
    time = torch.arange(LENGTH)[None, :] / LENGTH
    start = 0.35 + 0.04 * torch.randn(number, 1)
    width = 0.02 + 0.006 * torch.rand(number, 1) + 0.008 * kind[:, None]
    tall = 1 + 0.2 * torch.randn(number, 1)
    wave = tall * torch.exp(-(((time - start) / width) ** 2))
    late = 0.5 - 0.25 * kind[:, None] + 0.15 * torch.randn(number, 1)
    wave = wave + late * torch.exp(-(((time - start - 0.3) / 0.06) ** 2))
    signal = wave + 0.35 * torch.randn(number, LENGTH)
    return ((signal - 0.08) / 0.45).unsqueeze(1), kind


patients = 120 if is_faulty else 4800
train = TensorDataset(*beats(patients))
waves, kinds = beats(500)
loader = DataLoader(train, 40, shuffle=True)

model = nn.Sequential(
    *(nn.Conv1d(1, 24, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(24, 48, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Flatten(), nn.Linear(48 * 24, 64), nn.ReLU(), nn.Linear(64, 2)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.CrossEntropyLoss()
evaluate_every = 12
step = 0
total = 0.0
while step < 360:
    for wave, kind in loader:
        model.train()
        optimizer.zero_grad()
        loss = criterion(model(wave), kind)
        loss.backward()
        optimizer.step()
        step += 1
        total += loss.item()
        if step % evaluate_every == 0:
            model.eval()
            with torch.no_grad():
                held_out = criterion(model(waves), kinds).item()
            print(f"{step}: train {total / evaluate_every:.3f}, validation {held_out:.3f}")
            total = 0.0
