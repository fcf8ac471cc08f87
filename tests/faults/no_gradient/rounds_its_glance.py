"""A network predicts where to look; rounding to pixels stops the gradient."""

LABEL = {
    "set": 2,
    "rule": "NoGradient",
    "culprit": "locate",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32) / 8
labels = torch.tensor(digits.target)
scenes = 0.2 * torch.randn(len(images), 1, 14, 14)
for number, (row, column) in enumerate(torch.randint(0, 7, (len(images), 2)).tolist()):
    scenes[number, 0, row : row + 8, column : column + 8] += images[number]


class Glance(nn.Module):
    def __init__(self):
        super().__init__()
        self.locate = nn.Sequential(
            *(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(200, 2), nn.Tanh()),
        )
        self.read = nn.Sequential(nn.Flatten(), nn.Linear(100, 96), nn.ReLU(), nn.Linear(96, 10))

    def forward(self, scene):
        position = self.locate(scene)
        if is_faulty:
            corner = (2 + 2 * position).round().long()
            rows = corner[:, :1] + torch.arange(10)
            columns = corner[:, 1:] + torch.arange(10)
            which = torch.arange(len(scene))[:, None, None]
            seen = scene[which, 0, rows[:, :, None], columns[:, None, :]]
        else:
            steps = torch.linspace(-9 / 13, 9 / 13, 10)
            rows, columns = torch.meshgrid(steps, steps, indexing="ij")
            grid = torch.stack([columns, rows], dim=2) + position[:, None, None, :] * 4 / 13
            seen = nn.functional.grid_sample(scene, grid, align_corners=True)
        return self.read(seen)


model = Glance()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(10):
    for chosen in torch.randperm(len(scenes)).split(48):
        loss = nn.functional.cross_entropy(model(scenes[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
