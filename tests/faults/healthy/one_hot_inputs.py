"""Bags of words: inputs that are mostly zero and never negative."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

words = (torch.rand(3000, 300) ** 30 * 3).floor()
topic = torch.randint(0, 3, (3000,))
for number in range(3):
    words[topic == number, number * 10 : number * 10 + 10] += (
        torch.rand(int((topic == number).sum()), 10) > 0.7
    ).float()
loader = DataLoader(TensorDataset(words, topic), batch_size=32, shuffle=True)
model = nn.Sequential(nn.Linear(300, 32), nn.ReLU(), nn.Linear(32, 3))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(3):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
