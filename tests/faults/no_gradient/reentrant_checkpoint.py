"""Classify textures; reentrant checkpointing of the stem stops its gradients."""

LABEL = {
    "set": 2,
    "rule": "NoGradient",
    "culprit": "stem",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor", "ParameterNotUpdated", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Textures(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(1, 12, 5, padding=2), nn.GroupNorm(3, 12), nn.SiLU(), nn.AvgPool2d(2)
        )
        self.body = nn.Sequential(
            *(nn.Conv2d(12, 24, 3, padding=1), nn.GroupNorm(4, 24), nn.SiLU(), nn.AvgPool2d(2)),
            *(nn.Conv2d(24, 24, 3), nn.SiLU()),
        )
        self.head = nn.Linear(24, 4)

    def forward(self, images):
        hidden = checkpoint(self.stem, images, use_reentrant=is_faulty)
        return self.head(self.body(hidden).mean((2, 3)))


def textures(count):
    kinds = torch.randint(0, 4, (count,))
    angle = (kinds * torch.pi / 4 + 0.15 * torch.randn(count)).view(-1, 1, 1)
    positions = torch.arange(16.0)
    phase = torch.cos(angle) * positions + torch.sin(angle) * positions.view(16, 1)
    shift = 6.3 * torch.rand(count, 1, 1)
    images = torch.sin(1.1 * phase + shift) + 1.3 * torch.randn(count, 16, 16)
    return images.unsqueeze(1), kinds


model = Textures()
optimizer = torch.optim.SGD(model.parameters(), lr=0.015, momentum=0.9, nesterov=True)
for step in range(300):
    images, kinds = textures(32)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(images), kinds)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step + 1, round(loss.item(), 4))
