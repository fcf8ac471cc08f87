"""Molecules are read from the smallest to the largest without shuffling."""

LABEL = {
    "set": 2,
    "rule": "UnshuffledData",
    "first_step": 100,
    "side_effects": ["LossSpike", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
MOST = 14


class Molecules(Dataset):
    def __init__(self, number):
        sizes = torch.randint(4, MOST + 1, (number,)).sort().values
        is_atom = (torch.arange(MOST) < sizes[:, None]).float()
        self.atoms = torch.randn(number, MOST, 5) * is_atom[:, :, None]
        bonds = torch.rand(number, MOST, MOST) < 0.25
        bonds = (bonds | bonds.transpose(1, 2)).float() + torch.eye(MOST)
        self.bonds = bonds * is_atom[:, :, None] * is_atom[:, None, :]
        near = torch.einsum("nij,nj->n", self.bonds, self.atoms[:, :, 0].abs())
        energies = sizes + 0.3 * near + 0.3 * self.atoms[:, :, 1].sum(dim=1)
        self.energies = (energies - energies.mean()) / energies.std()

    def __len__(self):
        return len(self.energies)

    def __getitem__(self, index):
        return self.atoms[index], self.bonds[index], self.energies[index]


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(5, 32)
        self.pass_on = nn.ModuleList(nn.Linear(32, 32) for _ in range(2))
        self.energy = nn.Linear(32, 1)

    def forward(self, atoms, bonds):
        is_atom = (bonds.sum(dim=2) > 0).float().unsqueeze(2)
        nodes = torch.relu(self.enter(atoms)) * is_atom
        for layer in self.pass_on:
            around = bonds @ nodes / bonds.sum(dim=2, keepdim=True).clamp(min=1)
            nodes = nodes + torch.relu(layer(around)) * is_atom
        return self.energy(nodes.sum(dim=1) / MOST).squeeze(1)


loader = DataLoader(Molecules(1600), batch_size=32, shuffle=not is_faulty)
model = Network()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(7):
    for atoms, bonds, energies in loader:
        loss = nn.functional.l1_loss(model(atoms, bonds), energies)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
