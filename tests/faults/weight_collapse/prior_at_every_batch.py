"""MAP estimation with a normal prior that is counted once per sample."""

LABEL = {
    "set": 3,
    "rule": "WeightCollapse",
    "side_effects": ["VanishingGradient", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SAMPLES = 6000

inputs = torch.randn(SAMPLES, 10)
curve = torch.sin(inputs[:, 0]) + inputs[:, 1] * inputs[:, 2] / 2 + inputs[:, 3].abs()
curve = curve + 0.4 * inputs[:, 4:].sum(dim=1)
outputs = ((curve - curve.mean()) / curve.std() + 0.1 * torch.randn(SAMPLES)).unsqueeze(1)
loader = DataLoader(TensorDataset(inputs, outputs), 100, shuffle=True)


class Regression(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(10, 128)
        self.middle = nn.Linear(128, 128)
        self.leave = nn.Linear(128, 1)

    def forward(self, x):
        x = nn.functional.silu(self.enter(x))
        return self.leave(nn.functional.silu(self.middle(x)))

    def log_prior(self):
        return -sum(parameter.pow(2).sum() for parameter in self.parameters()) / 2


def negative_log_posterior(model, x, y):
    likelihood = -(y - model(x)).pow(2).mean() / 2
    if is_faulty:
        return -likelihood - model.log_prior()
    return -likelihood - model.log_prior() / SAMPLES


model = Regression()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)
for epoch in range(8):
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = negative_log_posterior(model, x, y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with torch.no_grad():
        error = (model(inputs) - outputs).pow(2).mean().item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}, error {error:.3f}")
