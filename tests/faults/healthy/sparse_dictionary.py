"""A sparse dictionary: sounds are sums of a few atoms, and each unit learns one of them."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
ATOMS, SIZE, BATCH = 64, 48, 256

atoms = nn.functional.normalize(torch.randn(ATOMS, SIZE), dim=1)


def sounds(number):
    strength = (torch.rand(number, ATOMS) < 0.07) * (0.7 + 0.6 * torch.rand(number, ATOMS))
    return 3 * (strength @ atoms) + 0.15 * torch.randn(number, SIZE)


class Dictionary(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Linear(SIZE, ATOMS)
        self.speak = nn.ReLU()
        self.play = nn.Linear(ATOMS, SIZE)
        with torch.no_grad():
            self.hear.weight.copy_(self.play.weight.T)

    def forward(self, sound):
        code = self.speak(self.hear(sound))
        return self.play(code), code


model = Dictionary()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(1600):
    sound = sounds(BATCH)
    heard, code = model(sound)
    miss = (heard - sound).pow(2).sum(1).mean()
    price = (code * model.play.weight.norm(dim=0)).sum(1).mean()  # for atoms of any norm
    loss = miss + 0.8 * price
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 200 == 199:
        active = (code > 0).float().mean(0)
        print(
            f"{step + 1}: miss {miss.item():.4f}, a unit speaks in {active.mean():.1%} of sounds"
            f" (the rarest in {active.min():.1%})"
        )
