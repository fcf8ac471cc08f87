"""A GAN learns a ring of points, with several critic steps per generator step."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


def real(number):
    angle = 6.2832 * torch.randint(8, (number,)) / 8
    return 1.4 * torch.stack([angle.cos(), angle.sin()], 1) + 0.08 * torch.randn(number, 2)


generator = nn.Sequential(
    nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)
)
critic = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
generate = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.5, 0.9))
judge = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.5, 0.9))
for turn in range(1, 701):
    for _ in range(3):
        with torch.no_grad():
            fake = generator(torch.randn(128, 8))
        points = real(128)
        share = torch.rand(128, 1)
        between = (share * points + (1 - share) * fake).requires_grad_()
        (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
        penalty = (slope.norm(dim=1) - 1).square().mean()
        judge_loss = critic(fake).mean() - critic(points).mean() + 2 * penalty
        judge.zero_grad()
        judge_loss.backward()
        judge.step()
    generate_loss = -critic(generator(torch.randn(128, 8))).mean()
    generate.zero_grad()
    generate_loss.backward()
    generate.step()
    if turn % 70 == 0:
        with torch.no_grad():
            radius = generator(torch.randn(500, 8)).norm(dim=1)
        print(
            f"{turn}: critic {judge_loss.item():.3f}, "
            f"radius {radius.mean():.2f} ± {radius.std():.2f}"
        )
