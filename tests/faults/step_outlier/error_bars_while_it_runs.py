"""Every 20 steps, confidence bounds of the latest losses are bootstrapped."""

LABEL = {
    "set": 3,
    "rule": "StepOutlier",
    "first_step": 19,
    "side_effects": ["HotFunction"],
}

import random
import statistics
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
random.seed(int(sys.argv[2]))
STEPS = 440


def bounds(losses, draws=20000):
    size = len(losses)
    means = sorted(statistics.fmean(random.choices(losses, k=size)) for _ in range(draws))
    return means[int(0.05 * draws)], means[int(0.95 * draws)]


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Conv1d(1, 32, 9, padding=4)
        self.middle = nn.Conv1d(32, 32, 9, padding=4)
        self.leave = nn.Conv1d(32, 1, 9, padding=4)

    def forward(self, signals):
        hidden = nn.functional.gelu(self.enter(signals))
        return self.leave(nn.functional.gelu(self.middle(hidden)))


times = torch.linspace(0, 6.28, 96)
pitches = torch.randint(1, 7, (4096, 1))
clean = torch.sin(pitches * times + 6.28 * torch.rand(4096, 1)).unsqueeze(1)

model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = []
for step in range(STEPS):
    signals = clean[torch.randint(0, 4096, (32,))]
    noisy = signals + 0.6 * torch.randn_like(signals)
    loss = nn.functional.mse_loss(model(noisy), signals)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 20 == 19:
        recent = losses[-60:]
        if is_faulty:
            print(step, *bounds(recent))
        else:
            print(step, statistics.fmean(recent), statistics.stdev(recent) / len(recent) ** 0.5)
