"""A diffusion model with time steps 0 to 199 as float inputs, and a moving average of it."""

LABEL = {"set": 1, "rule": None}

import copy
import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

STEPS = 200
betas = torch.linspace(1e-4, 0.04, STEPS)
signal_shares = (1 - betas).cumprod(0)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 96), nn.SiLU())
        self.enter = nn.Linear(2, 96)
        self.middle = nn.ModuleList(nn.Linear(96, 96) for _ in range(3))
        self.leave = nn.Linear(96, 2)
        nn.init.zeros_(self.leave.weight)

    def forward(self, points, times):
        waves = times.unsqueeze(1) * torch.exp(-torch.arange(16) / 2)
        when = self.time(torch.cat([waves.sin(), waves.cos()], dim=1))
        hidden = self.enter(points)
        for layer in self.middle:
            hidden = hidden + nn.functional.silu(layer(hidden + when))
        return self.leave(hidden)


def draw(count):
    turns = 3 * torch.rand(count, 1) + 0.5
    curl = torch.cat([turns.mul(3).cos(), turns.mul(3).sin()], dim=1) * turns / 2
    return curl + 0.03 * torch.randn(count, 2)


@torch.no_grad()
def sample(model, count):
    points = torch.randn(count, 2)
    for time in reversed(range(STEPS)):
        noise = model(points, torch.full((count,), float(time)))
        points = (points - betas[time] / (1 - signal_shares[time]).sqrt() * noise) / (
            1 - betas[time]
        ).sqrt()
        points = points + betas[time].sqrt() * torch.randn(count, 2) * (time > 0)
    return points


model = Denoiser()
average = copy.deepcopy(model).requires_grad_(False)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(900):
    times = torch.randint(0, STEPS, (64,))
    noise = torch.randn(64, 2)
    share = signal_shares[times].unsqueeze(1)
    noisy = share.sqrt() * draw(64) + (1 - share).sqrt() * noise
    loss = nn.functional.mse_loss(model(noisy, times.float()), noise)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(average.parameters(), model.parameters(), strict=True):
            slow.lerp_(fast, 0.01)
    if step % 150 == 149:
        print(step, loss.item(), sample(average, 100).std().item())
