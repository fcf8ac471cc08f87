"""A Wasserstein GAN with a gradient penalty: five critic steps per generator step."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

generator = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2))
critic = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))


def sample():
    return torch.randn(64, 2) * 0.2 + torch.randint(0, 2, (64, 1)) * 3.0


for step in range(70):
    for _ in range(5):
        real, fake = sample(), generator(torch.randn(64, 4)).detach()
        between = torch.lerp(real, fake, torch.rand(64, 1)).requires_grad_()
        slope = torch.autograd.grad(critic(between).sum(), between, create_graph=True)[0]
        penalty = (slope.norm(dim=1) - 1).pow(2).mean()
        loss = critic(fake).mean() - critic(real).mean() + 10 * penalty
        of_critic.zero_grad()
        loss.backward()
        of_critic.step()
    loss = -critic(generator(torch.randn(64, 4))).mean()
    of_generator.zero_grad()
    loss.backward()
    of_generator.step()
    if step % 10 == 0:
        print(step, loss.item())
