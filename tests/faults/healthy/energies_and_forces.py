"""Energies of atom clusters, and forces as their gradients, in one loss."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
ATOMS = 6
pairs = torch.triu_indices(ATOMS, ATOMS, 1)


def distances(positions):
    return (positions[:, pairs[0]] - positions[:, pairs[1]]).norm(dim=2)


def morse(positions):
    return ((1 - torch.exp(-1.2 * (distances(positions) - 1.5))) ** 2 - 1).sum(dim=1)


def clusters(number):
    corners = torch.cartesian_prod(*[torch.arange(2.0)] * 3)[:ATOMS] * 1.6
    positions = (corners + 0.15 * torch.randn(number, ATOMS, 3)).requires_grad_()
    energies = morse(positions)
    (slopes,) = torch.autograd.grad(energies.sum(), positions)
    return positions.detach(), energies.detach(), -slopes


class Potential(nn.Module):
    def __init__(self, shift, scale):
        super().__init__()
        self.register_buffer("shift", shift)
        self.register_buffer("scale", scale)
        self.register_buffer("centres", torch.linspace(0.8, 3.2, 16))
        self.net = nn.Sequential(
            *(nn.Linear(16, 64), nn.SiLU()),
            *(nn.Linear(64, 64), nn.SiLU()),
            nn.Linear(64, 1),
        )

    def forward(self, positions):
        basis = torch.exp(-8 * (distances(positions).unsqueeze(2) - self.centres) ** 2)
        return self.shift + self.scale * self.net(basis).squeeze(2).sum(dim=1)


positions, energies, forces = clusters(3000)
model = Potential(energies.mean(), energies.std() / 4)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, amsgrad=True)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.997)
force_scale = forces.std()
for step in range(450):
    rows = torch.randint(0, len(positions), (48,))
    inputs = positions[rows].requires_grad_()
    energy = model(inputs)
    (slope,) = torch.autograd.grad(energy.sum(), inputs, create_graph=True)
    energy_loss = (energy - energies[rows]).pow(2).mean() / energies.var()
    force_loss = (slope + forces[rows]).pow(2).mean() / force_scale**2
    loss = 0.1 * energy_loss + 0.9 * force_loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 49:
        print(f"{step + 1}: energy {energy_loss.item():.4f}, forces {force_loss.item():.4f}")
