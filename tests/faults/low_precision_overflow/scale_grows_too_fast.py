"""A gradient scaler that doubles its scale every three steps overflows every few steps."""

LABEL = {
    "set": 1,
    "rule": "LowPrecisionOverflow",
    "side_effects": ["ExplodingTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

model = nn.Sequential(
    *(nn.Conv1d(4, 24, 5, stride=2), nn.BatchNorm1d(24), nn.ReLU()),
    *(nn.Conv1d(24, 32, 5, stride=2), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 3)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scaler = torch.amp.GradScaler("cpu", growth_interval=3 if is_faulty else 2000)
skipped = 0
for step in range(400):
    labels = torch.randint(0, 3, (32,))
    pitches = (0.2 + 0.15 * labels + 0.05 * torch.rand(32)).view(-1, 1, 1)
    sounds = torch.sin(pitches * torch.arange(80) + 6.28 * torch.rand(32, 4, 1))
    sounds += torch.randn(sounds.shape)
    with torch.autocast("cpu", dtype=torch.float16):
        outputs = model(sounds)
    loss = nn.functional.cross_entropy(outputs.float(), labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    before = scaler.get_scale()
    scaler.step(optimizer)
    scaler.update()
    skipped += scaler.get_scale() < before
    if step % 50 == 49:
        print(step, loss.item(), scaler.get_scale(), skipped)
