"""A hypernetwork generates the weights of a network that draws a curve."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn
from torch.func import functional_call, vmap

torch.manual_seed(int(sys.argv[2]))

curve = nn.Sequential(nn.Linear(1, 12), nn.Tanh(), nn.Linear(12, 12), nn.Tanh(), nn.Linear(12, 1))
curve.requires_grad_(requires_grad=False)
shapes = {name: tuple(parameter.shape) for name, parameter in curve.named_parameters()}


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU())
        self.heads = nn.ModuleDict()
        for name, shape in shapes.items():
            size = int(torch.tensor(shape).prod())
            head = nn.Linear(64, size)
            with torch.no_grad():
                head.weight.mul_(0.3)
                head.bias.copy_(dict(curve.named_parameters())[name].flatten())
            self.heads[name.replace(".", "_")] = head

    def forward(self, settings):
        hidden = self.body(settings)
        return {
            name: self.heads[name.replace(".", "_")](hidden).unflatten(1, shape)
            for name, shape in shapes.items()
        }


def drawn(weights, positions):
    return functional_call(curve, weights, positions)


def truth(settings, positions):
    height, pitch, shift = settings.unbind(dim=1)
    inner = (1.5 + 0.5 * pitch)[:, None] * positions + shift[:, None]
    return (1 + 0.4 * height)[:, None] * torch.sin(inner)


writer = Writer()
optimizer = torch.optim.AdamW(writer.parameters(), lr=1e-3, weight_decay=1e-4)
draw_all = vmap(drawn)
for step in range(500):
    settings = torch.rand(32, 3) * 2 - 1
    positions = torch.rand(32, 40) * 4 - 2
    guesses = draw_all(writer(settings), positions.unsqueeze(2)).squeeze(2)
    loss = nn.functional.mse_loss(guesses, truth(settings, positions))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(writer.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
