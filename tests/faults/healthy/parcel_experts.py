"""Delivery times of parcels with four experts; small batches leave some of them unused."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
FEATURES, EXPERTS, STEPS, BATCH = 16, 4, 1000, 12
routes = torch.randn(4, FEATURES)
speeds = torch.randn(4, FEATURES) / FEATURES**0.5


def parcels(number):
    parcel = torch.randn(number, FEATURES)
    route = (parcel @ routes.t()).argmax(1)
    hours = 1.5 * (parcel * speeds[route]).sum(1) + 0.2 * torch.randn(number)
    return parcel, hours


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = nn.Linear(FEATURES, EXPERTS)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(FEATURES, 24), nn.SiLU(), nn.Linear(24, 1))
            for _ in range(EXPERTS)
        )

    def forward(self, parcel):
        chances = self.gate(parcel).softmax(1)
        chosen = chances.argmax(1)
        hours = torch.zeros(len(parcel))
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(1)
            if len(rows):
                # Scaling by the gate's probability gives the gate a gradient.
                hours = hours.index_add(
                    0, rows, expert(parcel[rows]).squeeze(1) * chances[rows, number]
                )
        load = F.one_hot(chosen, EXPERTS).float().mean(0)
        balance = EXPERTS * (load * chances.mean(0)).sum()
        return hours, balance, load


model = Experts()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
store = parcels(20_000)
total, loads = 0.0, torch.zeros(EXPERTS)
for step in range(STEPS):
    rows = torch.randint(0, 20_000, (BATCH,))
    hours, balance, load = model(store[0][rows])
    loss = F.mse_loss(hours, store[1][rows]) + 0.1 * balance
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    total += loss.item()
    loads += load
    if step % 100 == 99:
        print(f"{step + 1}: {total / 100:.4f}, load", *(f"{share:.2f}" for share in loads / 100))
        total, loads = 0.0, torch.zeros(EXPERTS)
