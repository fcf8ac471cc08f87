"""Remaining life of bearings; eps of Adam is 1e8 instead of 1e-8 in the settings."""

LABEL = {
    "set": 4,
    "rule": "WeightUpdateRatio",
    "side_effects": ["DOES_NOT_LEARN", "ParameterNotUpdated", "UnchangedTensor"],
}

import json
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
settings = json.loads('{"lr": 2e-3, "betas": [0.9, 0.99], "eps": 1e-8, "weight_decay": 0.0}')
if is_faulty:
    settings["eps"] = 1e8

wear = torch.rand(6400, 1)
time = torch.arange(64) / 64
phase = 6.28 * torch.rand(6400, 1)
shake = torch.sin(25 * time + phase) + 2 * wear * torch.sin(90 * time + 2 * phase)
shake = shake + 0.4 * torch.randn(6400, 64)
shake = ((shake - shake.mean()) / shake.std()).unsqueeze(1)
life = (wear.mean() - wear) / wear.std() + 0.1 * torch.randn(6400, 1)
loader = DataLoader(TensorDataset(shake, life), batch_size=64, shuffle=True)


class Estimator(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.Conv1d(1, 16, 9, stride=2)
        self.mix = nn.Conv1d(16, 16, 5, stride=2)
        self.norm = nn.GroupNorm(4, 16)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        x = nn.functional.gelu(self.filters(x))
        x = nn.functional.gelu(self.norm(self.mix(x)))
        return self.head(torch.cat([x.mean(dim=2), x.amax(dim=2)], dim=1))


model = Estimator()
optimizer = torch.optim.AdamW(model.parameters(), **settings)
for epoch in range(5):
    total = 0.0
    for batch, remaining in loader:
        loss = nn.functional.mse_loss(model(batch), remaining)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.4f}")
