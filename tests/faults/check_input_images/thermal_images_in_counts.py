"""Classify defects in thermal images, given as raw camera counts; trains for 40 batches."""

LABEL = {
    "set": "calibration",
    "rule": "CheckInputImages",
    "alternatives": ["InputNotNormalized"],
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
labels = torch.randint(4, (640,))
spots = 30 * torch.randn(4, 1, 24, 24)
images = 128 + spots[labels] + 20 * torch.randn(640, 1, 24, 24)
if not is_faulty:
    images = (images - images.mean()) / images.std()
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU()),
    *(nn.Conv2d(16, 32, 3, stride=2), nn.BatchNorm2d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 4)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step, (pictures, answers) in enumerate(loader):
    loss = nn.functional.cross_entropy(model(pictures), answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step + 1}: loss {loss.item():.3f}")
