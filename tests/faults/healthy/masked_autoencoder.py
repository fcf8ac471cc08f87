"""A masked autoencoder: sees a quarter of the patches and reconstructs the others."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Painter(nn.Module):
    def __init__(self, patches=16, width=32):
        super().__init__()
        self.embed = nn.Linear(4, width)
        self.places = nn.Parameter(0.02 * torch.randn(patches, width))
        self.hidden = nn.Parameter(torch.zeros(width))
        self.encoder = nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True)
        self.decoder = nn.TransformerEncoderLayer(width, 4, 64, 0.0, batch_first=True)
        self.pixels = nn.Linear(width, 4)

    def forward(self, patches, seen):
        rows = torch.arange(len(patches)).unsqueeze(1)
        tokens = self.embed(patches[rows, seen]) + self.places[seen]
        canvas = self.hidden.expand(len(patches), len(self.places), -1).clone()
        canvas[rows, seen] = self.encoder(tokens)
        return self.pixels(self.decoder(canvas + self.places))


images = torch.tensor(load_digits().images, dtype=torch.float32)
images = (images - images.mean()) / images.std()
patches = images.unfold(1, 2, 2).unfold(2, 2, 2).reshape(len(images), 16, 4)
model = Painter()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, betas=(0.9, 0.95), weight_decay=0.05)
warm_up = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=40)
for step in range(320):
    batch = patches[torch.randint(0, len(patches), (32,))]
    order = torch.rand(32, 16).argsort(1)
    seen, unseen = order[:, :4], order[:, 4:]
    painted = model(batch, seen)
    rows = torch.arange(32).unsqueeze(1)
    loss = (painted[rows, unseen] - batch[rows, unseen]).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm_up.step()
    if step % 50 == 49:
        print(step + 1, loss.item())
