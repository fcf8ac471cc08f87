"""A Gaussian process on the features of a small network; all data at every step."""

LABEL = {"set": 7, "rule": None}

import math
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
torch.set_default_dtype(torch.float64)
mixing = torch.randn(6, 2) / 6**0.5


def soils(number):
    """Return field measurements, and how much water the soil holds."""
    measurements = torch.randn(number, 6)
    hidden = measurements @ mixing
    held = torch.sin(2 * hidden[:, 0]) + 0.5 * hidden[:, 1] ** 2 - 0.5
    return measurements, held + 0.25 * torch.randn(number)


class Process(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))
        self.log_reach = nn.Parameter(torch.zeros(2))
        self.log_scale = nn.Parameter(torch.tensor(0.0))
        self.log_noise = nn.Parameter(torch.tensor(-1.0))

    def kernel(self, left, right):
        left, right = (self.features(side) / self.log_reach.exp() for side in (left, right))
        squares = ((left[:, None] - right[None, :]) ** 2).sum(2)
        return (2 * self.log_scale).exp() * torch.exp(-0.5 * squares)

    def factor(self, inputs):
        noise = (2 * self.log_noise).exp() + 1e-6
        return torch.linalg.cholesky(self.kernel(inputs, inputs) + noise * torch.eye(len(inputs)))

    def forward(self, inputs, outputs):
        factor = self.factor(inputs)
        solved = torch.linalg.solve_triangular(factor, outputs[:, None], upper=False)
        log_volume = factor.diagonal().log().sum()
        return (0.5 * (solved**2).sum() + log_volume) / len(inputs) + 0.5 * math.log(2 * math.pi)

    def predict(self, inputs, outputs, others):
        solved = torch.cholesky_solve(outputs[:, None], self.factor(inputs))
        return (self.kernel(others, inputs) @ solved).squeeze(1)


inputs, outputs = soils(320)
others, targets = soils(400)
model = Process()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-2)
for step in range(180):
    model.train()
    optimizer.zero_grad()
    loss = model(inputs, outputs)
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        model.eval()
        with torch.no_grad():
            error = (model.predict(inputs, outputs, others) - targets).square().mean().sqrt()
        noise = model.log_noise.exp().item()
        print(f"step {step + 1}: {loss.item():+.3f}, off by {error:.3f}, noise {noise:.3f}")
