"""Cross-validation: five models are trained one after another in one process."""

LABEL = {"set": 1, "rule": None}

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed = int(sys.argv[2])
torch.manual_seed(seed)

digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 8 - 1
data = TensorDataset(images, torch.tensor(digits.target))


def build():
    return nn.Sequential(
        nn.Linear(64, 160),
        nn.ReLU(),
        nn.Dropout(0.2),
        nn.Linear(160, 80),
        nn.ReLU(),
        nn.Linear(80, 10),
    )


def train(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    model.train()
    for _ in range(4):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            loss.backward()
            optimizer.step()
    return loss.item()


def evaluate(model, loader):
    model.eval()
    with torch.no_grad():
        right = sum((model(batch).argmax(1) == labels).sum().item() for batch, labels in loader)
    return right / len(loader.dataset)


scores = []
for learn, check in KFold(5, shuffle=True, random_state=seed).split(images):
    model = build()
    loss = train(model, DataLoader([data[row] for row in learn], batch_size=32, shuffle=True))
    scores.append(evaluate(model, DataLoader([data[row] for row in check], batch_size=90)))
    print(len(scores), loss, scores[-1])
print(np.mean(scores), np.std(scores))
