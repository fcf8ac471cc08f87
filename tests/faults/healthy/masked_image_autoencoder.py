"""A masked autoencoder: encodes a quarter of an image, and the loss covers the rest."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
PATCHES, SEEN = 16, 4


def pictures(number):
    ramp = torch.linspace(-1, 1, 16)
    angle = 6.2832 * torch.rand(number, 1, 1)
    across = torch.cos(angle) * ramp + torch.sin(angle) * ramp[:, None]
    waves = torch.sin(3 * across + 6.2832 * torch.rand(number, 1, 1))
    return waves.unfold(1, 4, 4).unfold(2, 4, 4).reshape(number, PATCHES, 16)


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Linear(16, 32)
        self.places = nn.Parameter(0.1 * torch.randn(PATCHES, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.hidden = nn.Parameter(0.02 * torch.randn(1, 1, 32))
        self.decoder = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.pixels = nn.Linear(32, 16)

    def forward(self, patches):
        order = torch.rand(len(patches), PATCHES).argsort(dim=1)
        seen = order[:, :SEEN, None].expand(-1, -1, 32)
        nodes = self.encoder((self.patch(patches) + self.places).gather(1, seen))
        canvas = self.hidden.expand(len(patches), PATCHES, 32).scatter(1, seen, nodes)
        again = self.pixels(self.decoder(canvas + self.places))
        unseen = order[:, SEEN:, None].expand(-1, -1, 16)
        return nn.functional.mse_loss(again.gather(1, unseen), patches.gather(1, unseen))


data = pictures(4000)
model = Masked()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3, betas=(0.9, 0.95))
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1, (step + 1) / 40))
for step in range(360):
    loss = model(data[torch.randint(0, 4000, (40,))])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm_up.step()
    if step % 80 == 0:
        print(step, loss.item())
