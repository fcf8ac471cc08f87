"""Strong dropout and noise in training, so validation is better."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16 - 0.3
data = TensorDataset(x, torch.tensor(digits.target))
train_set, valid_set = random_split(data, [1400, 397])
train, valid = DataLoader(train_set, 32, shuffle=True), DataLoader(valid_set, 128)
model = nn.Sequential(
    nn.Dropout(0.3), nn.Linear(64, 96), nn.ReLU(), nn.Dropout(0.5), nn.Linear(96, 10)
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    model.train()
    for batch, labels in train:
        noisy = batch + 0.3 * torch.randn_like(batch)
        loss = nn.functional.cross_entropy(model(noisy), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [nn.functional.cross_entropy(model(batch), labels) for batch, labels in valid]
    print(epoch, loss.item(), torch.stack(losses).mean().item())
