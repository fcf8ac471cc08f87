"""Land cover segmentation; the model applies a softmax before a loss that does so, too."""

LABEL = {
    "set": 6,
    "rule": "OutputIsProbability",
    "max_delay_steps": 30,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIDE, KINDS, STEPS, BATCH = 16, 3, 260, 16
colors = torch.tensor([[0.2, 0.9, -0.3], [1.0, 0.4, -0.8], [-0.9, -0.2, 0.9]])


def views(number):
    lots = F.interpolate(torch.randn(number, KINDS, 4, 4), size=SIDE, mode="bilinear")
    kind = lots.argmax(1)
    light = 1 + 0.2 * torch.randn(number, 1, 1, 1)
    picture = light * colors[kind].permute(0, 3, 1, 2) + 0.7 * torch.randn(number, 3, SIDE, SIDE)
    return picture, kind


class Mapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU()),
            *(nn.Conv2d(16, 16, 3, padding=1), nn.ReLU()),
            nn.Conv2d(16, KINDS, 1),
        )

    def forward(self, picture):
        scores = self.layers(picture)
        return scores.softmax(1) if is_faulty else scores


model = Mapper()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
pictures, kinds = views(3000)
total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, len(pictures), (BATCH,))
    loss = F.cross_entropy(model(pictures[rows]), kinds[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 26 == 25:
        print(f"{step + 1}: {total / 26:.4f}")
        total = 0.0
