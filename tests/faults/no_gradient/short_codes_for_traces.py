"""Traces of a motor's current as 24 bits, without the straight-through estimator."""

LABEL = {
    "set": 6,
    "rule": "NoGradient",
    "culprit": "encoder",
    "max_delay_steps": 12,
    "alternatives": ["ParameterNotUpdated", "UnchangedTensor"],
    "side_effects": ["LossNotDecreasing", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH, BITS = 64, 24
STEPS, BATCH = 500, 64


def traces(number):
    time = torch.linspace(0, 1, LENGTH)
    speed = 1 + 3 * torch.rand(number, 1)
    phase = 6.28 * torch.rand(number, 1)
    load = torch.rand(number, 1)
    wave = torch.sin(6.28 * speed * time + phase) * (0.5 + load)
    knock = torch.exp(-(((time - torch.rand(number, 1)) / 0.05) ** 2))
    return wave + knock + 0.05 * torch.randn(number, LENGTH)


class Codes(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(LENGTH, 96), nn.ReLU(), nn.Linear(96, BITS))
        self.decoder = nn.Sequential(nn.Linear(BITS, 96), nn.ReLU(), nn.Linear(96, LENGTH))

    def forward(self, trace):
        soft = torch.sigmoid(self.encoder(trace))
        bits = (soft > 0.5).float()
        if not is_faulty:
            bits = bits.detach() + soft - soft.detach()
        return self.decoder(2 * bits - 1)


model = Codes()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
store = traces(30_000)
total = 0.0
for step in range(STEPS):
    trace = store[torch.randint(0, len(store), (BATCH,))]
    loss = (model(trace) - trace).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 50 == 49:
        print(f"{step + 1}: {total / 50:.4f}")
        total = 0.0
