"""Denoise images; the learning rate restarts several times, with growing periods."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
SIZE = 16


def pictures(number):
    position = torch.linspace(-1, 1, SIZE)
    direction = 3.14 * torch.rand(number, 1, 1)
    pitch = 2 + 5 * torch.rand(number, 1, 1)
    turned = (
        torch.cos(direction) * position[None, :, None] + torch.sin(direction) * position[None, None]
    )
    clean = 1.4 * torch.sin(pitch * turned + 6.28 * torch.rand(number, 1, 1)).unsqueeze(1)
    return clean + 0.5 * torch.randn_like(clean), clean


model = nn.Sequential(
    *(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
    *(nn.Conv2d(24, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU()),
    nn.Conv2d(24, 1, 3, padding=1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 120, 2, eta_min=1e-5)
noisy_held, clean_held = pictures(200)
mean = 0.0
for step in range(1, 841):
    model.train()
    noisy, clean = pictures(24)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    mean += loss.item() / 60
    if step % 60 == 0:
        model.eval()
        with torch.no_grad():
            held = nn.functional.mse_loss(model(noisy_held), clean_held).item()
        print(
            f"step {step}: {mean:.4f}, validation {held:.4f}, rate {scheduler.get_last_lr()[0]:.4f}"
        )
        mean = 0.0
