"""A third of the training labels are random by design; clean validation is better."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
order = torch.randperm(1797)
x = torch.tensor(digits.data, dtype=torch.float32)[order]
x, y = (x - x.mean()) / x.std(), torch.tensor(digits.target)[order]
noisy = torch.where(torch.rand(1797) < 0.33, torch.randint(0, 10, (1797,)), y)
train = DataLoader(TensorDataset(x[:1400], noisy[:1400]), batch_size=35, shuffle=True)
valid = DataLoader(TensorDataset(x[1400:], y[1400:]), batch_size=100)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    for batch, labels in train:
        loss = criterion(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(batch), labels).item() for batch, labels in valid]
    print(epoch, loss.item(), sum(losses) / len(losses))
