"""Trains for a while, saves everything, and resumes from the checkpoint."""

LABEL = {"set": 3, "rule": None}

import sys
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
digits = load_digits()
rows = torch.tensor(digits.data, dtype=torch.float32)
rows = (rows - rows.mean()) / rows.std()
labels = torch.tensor(digits.target)
order = torch.randperm(len(rows))
train = TensorDataset(rows[order[:1500]], labels[order[:1500]])
validation = TensorDataset(rows[order[1500:]], labels[order[1500:]])
path = Path(tempfile.mkdtemp()) / "noon.pt"


def build():
    model = nn.Sequential(
        *(nn.Linear(64, 192), nn.BatchNorm1d(192), nn.ReLU(), nn.Dropout(0.1)),
        *(nn.Linear(192, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1)),
        nn.Linear(96, 10),
    )
    optimizer = torch.optim.SGD(model.parameters(), 0.02, momentum=0.9, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 20, eta_min=1e-4)
    return model, optimizer, scheduler


def train_epochs(model, optimizer, scheduler, epochs):
    for epoch in epochs:
        model.train()
        for x, y in DataLoader(train, 60, shuffle=True):
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses = [
                nn.functional.cross_entropy(model(x), y).item()
                for x, y in DataLoader(validation, 100)
            ]
        held_out = sum(losses) / len(losses)
        print(f"epoch {epoch}: train {loss.item():.3f}, validation {held_out:.3f}")


def main():
    parts = build()
    train_epochs(*parts, range(10))
    torch.save([part.state_dict() for part in parts], path)
    del parts

    parts = build()
    for part, state in zip(parts, torch.load(path), strict=True):
        part.load_state_dict(state)
    train_epochs(*parts, range(10, 20))


main()
