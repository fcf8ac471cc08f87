"""Memorize one height map in a few small hash tables and a network."""

LABEL = {"set": 7, "rule": None}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
SIDE, BATCH, STEPS, ROWS = 192, 1024, 800, 4096
waves = torch.fft.fftfreq(SIDE)[:, None].square() + torch.fft.fftfreq(SIDE)[None].square()
noise = torch.fft.fft2(torch.randn(SIDE, SIDE))
heights = torch.fft.ifft2(noise / (waves + 2e-4)).real
heights = (heights - heights.mean()) / heights.std()


class Level(nn.Module):
    """A grid over the map whose corners are hashed to the rows of a table."""

    def __init__(self, cells):
        super().__init__()
        self.cells = cells
        self.table = nn.Embedding(ROWS, 2)
        nn.init.uniform_(self.table.weight, -1e-3, 1e-3)

    def forward(self, position):
        at = position * self.cells
        corner = at.floor().long()
        part = at - corner
        features = 0.0
        for right in (0, 1):
            for down in (0, 1):
                x, y = corner[:, 0] + right, corner[:, 1] + down
                row = torch.bitwise_xor(x, y * 2654435761) % ROWS
                weight = (part[:, 0] if right else 1 - part[:, 0]) * (
                    part[:, 1] if down else 1 - part[:, 1]
                )
                features = features + weight[:, None] * self.table(row)
        return features


class Map(nn.Module):
    def __init__(self):
        super().__init__()
        self.levels = nn.ModuleList(Level(cells) for cells in (6, 12, 24, 48, 96))
        self.mix = nn.Sequential(nn.Linear(10, 48), nn.SiLU(), nn.Linear(48, 1))

    def forward(self, position):
        return self.mix(torch.cat([level(position) for level in self.levels], 1)).squeeze(1)


pixel = torch.cartesian_prod(torch.arange(SIDE), torch.arange(SIDE))
position, height = (pixel + 0.5) / SIDE, heights.flatten()
model = Map()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2, eps=1e-15)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, STEPS)
with tempfile.TemporaryDirectory() as folder:
    for step in range(STEPS):
        rows = torch.randint(0, len(position), (BATCH,))
        optimizer.zero_grad()
        loss = F.mse_loss(model(position[rows]), height[rows])
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 99:
            model.eval()
            with torch.no_grad():
                error = F.mse_loss(model(position), height).item()
            model.train()
            torch.save(model.state_dict(), Path(folder) / "map.pt")
            print(f"{step + 1}: {loss.item():.5f}, whole map {error:.5f}")
