"""Separates two voices, with a loss that ignores the order of the outputs."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
LENGTH, HOP = 512, 32


def voices(number):
    times = torch.arange(LENGTH) / 100
    low = 6 + 3 * torch.rand(number, 1)
    high = 18 + 8 * torch.rand(number, 1)
    shift = 6.28 * torch.rand(number, 4)
    first = torch.sin(low * times + shift[:, :1]) + 0.4 * torch.sin(2 * low * times)
    second = torch.sin(high * times + shift[:, 1:2]) * (
        1 + 0.5 * torch.sin(2 * times + shift[:, 2:3])
    )
    both = torch.stack([first, second], dim=1) + 0.05 * torch.randn(number, 2, LENGTH)
    return both - both.mean(dim=2, keepdim=True)


class Separator(nn.Module):
    def __init__(self, channels=48):
        super().__init__()
        self.analysis = nn.Conv1d(1, channels, 64, stride=HOP, bias=False)
        self.norm = nn.GroupNorm(1, channels)
        self.masks = nn.Sequential(
            *(nn.Conv1d(channels, 64, 3, padding=1), nn.PReLU()),
            *(nn.Conv1d(64, 64, 3, padding=2, dilation=2), nn.PReLU()),
            nn.Conv1d(64, 2 * channels, 1),
        )
        self.synthesis = nn.ConvTranspose1d(channels, 1, 64, stride=HOP, bias=False)

    def forward(self, mixture):
        coded = self.analysis(mixture.unsqueeze(1))
        masks = torch.sigmoid(self.masks(self.norm(coded))).unflatten(1, (2, -1))
        parts = (masks * coded.unsqueeze(1)).flatten(0, 1)
        return self.synthesis(parts).view(len(mixture), 2, -1)


def decibels(guess, truth):
    guess = guess - guess.mean(dim=-1, keepdim=True)
    scale = (guess * truth).sum(-1, keepdim=True) / truth.pow(2).sum(-1, keepdim=True)
    targets = scale * truth
    ratio = targets.pow(2).sum(-1) / ((guess - targets).pow(2).sum(-1) + 1e-6)
    return 10 * torch.log10(ratio + 1e-6)


def loss_of(guesses, truth):
    straight = -decibels(guesses, truth).mean(dim=1)
    crossed = -decibels(guesses.flip(1), truth).mean(dim=1)
    return torch.minimum(straight, crossed).mean()


corpus = voices(2000)
model = Separator()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(400):
    truth = corpus[torch.randint(0, 2000, (16,))]
    loss = loss_of(model(truth.sum(dim=1)), truth)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 0:
        print(f"{step}: {-loss.item():.2f} dB")
