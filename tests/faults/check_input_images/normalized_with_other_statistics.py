"""Images with values from 0 to 255 are normalized with statistics for values from 0 to 1."""

LABEL = {
    "set": 1,
    "rule": "CheckInputImages",
    "alternatives": ["InputNotNormalized"],
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

MEAN = torch.tensor((0.485, 0.456, 0.406)).view(3, 1, 1)
DEVIATION = torch.tensor((0.229, 0.224, 0.225)).view(3, 1, 1)


def scenes(count, size=32):
    """Noisy pictures in bytes with a brighter disc each, and where the disc is."""
    middle = torch.randint(8, size - 8, (count, 2, 1, 1)).float()
    across = torch.arange(size).float()
    squares = (across.view(1, -1, 1) - middle[:, 0]) ** 2 + (
        across.view(1, 1, -1) - middle[:, 1]
    ) ** 2
    is_disc = squares < torch.randint(16, 60, (count, 1, 1))
    pictures = torch.randint(40, 180, (count, 3, size, size)) + 50 * is_disc.unsqueeze(1)
    return pictures.to(torch.uint8), is_disc.float()


def prepared(pictures):
    pixels = pictures.float() if is_faulty else pictures.float() / 255
    return (pixels - MEAN) / DEVIATION


class SmallUNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1), nn.GELU())
        self.deep = nn.Sequential(
            nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.GroupNorm(4, 24), nn.GELU()
        )
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.out = nn.Conv2d(24, 1, 3, padding=1)

    def forward(self, pictures):
        fine = self.down(pictures)
        return self.out(torch.cat([fine, self.up(self.deep(fine))], 1)).squeeze(1)


pictures, discs = scenes(640)
model = SmallUNet()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(6):
    for chosen in torch.randperm(640).split(16):
        optimizer.zero_grad()
        loss = criterion(model(prepared(pictures[chosen])), discs[chosen])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), prepared(pictures[chosen]).mean((0, 2, 3)).tolist())
