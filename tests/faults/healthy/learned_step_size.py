"""Trains in floating point, then with 4-bit weights and signals of learned step size."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Rounded(nn.Module):
    def __init__(self, lowest, highest):
        super().__init__()
        self.lowest, self.highest = lowest, highest
        self.step = nn.Parameter(torch.ones(()))
        self.is_on = False

    @torch.no_grad()
    def begin(self, values):
        self.step.copy_(2 * values.abs().mean() / self.highest**0.5)
        self.is_on = True

    def forward(self, values):
        if not self.is_on:
            return values
        slower = (values.numel() * self.highest) ** -0.5
        step = (self.step - self.step * slower).detach() + self.step * slower
        scaled = (values / step).clamp(self.lowest, self.highest)
        return (scaled + (scaled.round() - scaled).detach()) * step


class Layer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.for_weights = Rounded(-8, 7)
        self.for_signals = Rounded(0, 15)

    def forward(self, x):
        weight = self.for_weights(self.linear.weight)
        return self.for_signals(torch.relu(nn.functional.linear(x, weight, self.linear.bias)))


def draw(number=128):
    points = torch.randn(number, 16)
    return points, (points @ directions + 0.5 * torch.randn(number, 6)).argmax(dim=1)


def train(steps, rate, parameters):
    optimizer = torch.optim.Adam(parameters, lr=rate)
    for step in range(steps):
        points, labels = draw()
        loss = nn.functional.cross_entropy(model(points), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"{step + 1}: loss {loss.item():.3f}")


directions = torch.randn(16, 6) / 2
layers = [Layer(16, 128), Layer(128, 128)]
model = nn.Sequential(*layers, nn.Linear(128, 6))
train(300, 1e-3, [p for name, p in model.named_parameters() if not name.endswith("step")])
with torch.no_grad():
    signals, _ = draw(1000)
    for layer in layers:
        signals = layer(signals)
        layer.for_weights.begin(layer.linear.weight)
        layer.for_signals.begin(signals)
train(300, 5e-4, model.parameters())
