"""A GAN with a gradient penalty learns eight blobs on a ring."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
NOISE, BATCH = 8, 128


def real(number):
    angle = 2 * torch.pi * torch.randint(0, 8, (number,)) / 8
    return 1.4 * torch.stack([angle.cos(), angle.sin()], 1) + 0.12 * torch.randn(number, 2)


generator = nn.Sequential(
    nn.Linear(NOISE, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 2)
)
critic = nn.Sequential(
    nn.Linear(2, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1)
)
for_generator = torch.optim.Adam(generator.parameters(), lr=4e-4, betas=(0.5, 0.9))
for_critic = torch.optim.Adam(critic.parameters(), lr=8e-4, betas=(0.5, 0.9))
softplus = nn.functional.softplus
for step in range(1400):
    points = real(BATCH).requires_grad_(True)
    fakes = generator(torch.randn(BATCH, NOISE)).detach()
    scores = critic(points)
    (slope,) = torch.autograd.grad(scores.sum(), points, create_graph=True)
    critic_loss = softplus(-scores).mean() + softplus(critic(fakes)).mean()
    critic_loss = critic_loss + 0.1 * slope.pow(2).sum(1).mean()
    for_critic.zero_grad()
    critic_loss.backward()
    for_critic.step()

    generator_loss = softplus(-critic(generator(torch.randn(BATCH, NOISE)))).mean()
    for_generator.zero_grad()
    generator_loss.backward()
    for_generator.step()
    if step % 200 == 199:
        with torch.no_grad():
            made = generator(torch.randn(1000, NOISE))
            off = (made.norm(dim=1) - 1.4).abs().mean()
            blobs = ((torch.atan2(made[:, 1], made[:, 0]) / (torch.pi / 4)).round() % 8).unique()
        print(
            f"{step + 1}: critic {critic_loss.item():.3f}, generator {generator_loss.item():.3f},"
            f" {off:.3f} off the ring, {len(blobs)} blobs"
        )
