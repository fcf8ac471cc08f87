"""A spiking network over ten time steps learns digits with a surrogate gradient."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))


class Spike(torch.autograd.Function):
    @staticmethod
    def forward(ctx, voltage):
        ctx.save_for_backward(voltage)
        return (voltage > 0).float()

    @staticmethod
    def backward(ctx, gradient):
        (voltage,) = ctx.saved_tensors
        return gradient / (1 + 5 * voltage.abs()) ** 2


class Spiking(nn.Module):
    def __init__(self, hidden=64, leak=0.85):
        super().__init__()
        self.enter = nn.Linear(64, hidden)
        self.leave = nn.Linear(hidden, 10)
        self.leak = leak

    def forward(self, pictures, moments=10):
        voltage = torch.zeros(len(pictures), self.enter.out_features)
        readout = torch.zeros(len(pictures), 10)
        spikes = torch.zeros_like(voltage)
        for _ in range(moments):
            events = torch.bernoulli(pictures)
            voltage = self.leak * voltage * (1 - spikes) + self.enter(events)
            spikes = Spike.apply(voltage - 1)
            readout = self.leak * readout + self.leave(spikes)
        return readout


digits = load_digits()
order = torch.randperm(1797)
pictures = torch.tensor(digits.data, dtype=torch.float32)[order] / 16
labels = torch.tensor(digits.target)[order]
loader = DataLoader(TensorDataset(pictures[:1400], labels[:1400]), 40, shuffle=True)
model = Spiking()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(6):
    total = 0.0
    for picture, label in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(picture), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        hits = (model(pictures[1400:]).argmax(1) == labels[1400:]).float().mean()
    model.train()
    print(epoch, total / len(loader), hits.item())
