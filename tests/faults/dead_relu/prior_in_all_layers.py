"""Object detection; the bias for rare objects is applied to all layers instead of the head."""

LABEL = {
    "set": 3,
    "rule": "DeadRelu",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import math
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SCENES, OBJECTS = 3200, 6

present = (torch.rand(SCENES, OBJECTS) < 0.35).float()
shapes = torch.randn(OBJECTS, 3, 10, 10)
shapes = nn.functional.avg_pool2d(shapes, 3, stride=1, padding=1) * 2
scenes = torch.einsum("no,ochw->nchw", present, shapes)
scenes = scenes + 1.2 * torch.randn(SCENES, 3, 10, 10)
scenes = (scenes - scenes.mean()) / scenes.std()
loader = DataLoader(TensorDataset(scenes, present), batch_size=40, shuffle=True)


class Detector(nn.Module):
    def __init__(self, prior=0.05):
        super().__init__()
        self.stem = nn.Conv2d(3, 24, 3, padding=1)
        self.body = nn.Conv2d(24, 32, 3, stride=2, padding=1)
        self.neck = nn.Linear(32 * 25, 64)
        self.norm = nn.BatchNorm1d(64)
        self.head = nn.Linear(64, OBJECTS)
        self.active = nn.ModuleDict({name: nn.ReLU() for name in ("stem", "body", "neck")})
        layers = self.children() if is_faulty else [self.head]
        for layer in layers:
            if hasattr(layer, "bias"):
                nn.init.constant_(layer.bias, -math.log((1 - prior) / prior))

    def forward(self, scenes):
        maps = self.active["stem"](self.stem(scenes))
        maps = self.active["body"](self.body(maps))
        return self.head(self.active["neck"](self.norm(self.neck(maps.flatten(1)))))


model = Detector()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.BCEWithLogitsLoss()
for epoch in range(4):
    total = 0.0
    for scene, objects in loader:
        optimizer.zero_grad()
        loss = criterion(model(scene), objects)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
