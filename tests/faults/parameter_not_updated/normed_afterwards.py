"""Temporal convolutions; weight normalization is applied after the optimizer was created."""

LABEL = {
    "set": 1,
    "rule": "ParameterNotUpdated",
    "culprit": "scores",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor", "NoGradient"],
}

import sys

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Temporal(nn.Module):
    def __init__(self):
        super().__init__()
        self.filters = nn.ModuleList(
            nn.Conv1d(24 if wide > 1 else 1, 24, 3, padding=wide, dilation=wide)
            for wide in (1, 2, 4, 8)
        )
        self.scores = nn.Linear(24, 4)

    def forward(self, waves):
        for each in self.filters:
            waves = nn.functional.gelu(each(waves))
        return self.scores(waves.mean(2))


def draw(count):
    kinds = torch.randint(0, 4, (count,))
    times = torch.arange(64) + 20 * torch.rand(count, 1)
    waves = torch.sin(times * (0.2 + 0.15 * kinds).unsqueeze(1)) + 0.6 * torch.randn(count, 64)
    return waves.unsqueeze(1), kinds


model = Temporal()
if not is_faulty:
    weight_norm(model.scores)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
if is_faulty:
    weight_norm(model.scores)

for step in range(400):
    waves, kinds = draw(48)
    loss = nn.functional.cross_entropy(model(waves), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item(), model.scores.weight.norm().item())
