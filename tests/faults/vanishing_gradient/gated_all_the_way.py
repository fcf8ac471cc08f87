"""Heartbeats through thirteen gated convolutions without normalization."""

LABEL = {
    "set": 3,
    "rule": "VanishingGradient",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
BEATS, LENGTH = 2560, 32

kinds = torch.randint(0, 4, (BEATS,))
times = torch.linspace(0, 1, LENGTH)
centres = 0.3 + 0.1 * kinds[:, None] + 0.03 * torch.randn(BEATS, 1)
heights = torch.tensor([1.5, -1.2, 1.2, -1.5])[kinds][:, None]
beats = heights * torch.exp(-((times - centres) ** 2) / 0.005)
beats = (beats + 0.7 * torch.randn(BEATS, LENGTH)).unsqueeze(1)
beats = (beats - beats.mean()) / beats.std()
loader = DataLoader(TensorDataset(beats, kinds), batch_size=32, shuffle=True)


class Gated(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.norm = nn.Identity() if is_faulty else nn.GroupNorm(4, channels)
        self.mix = nn.Conv1d(channels, 2 * channels, 3, padding=1)
        self.gate = nn.GLU(dim=1)

    def forward(self, x):
        return self.gate(self.mix(self.norm(x)))


model = nn.Sequential(
    nn.Conv1d(1, 16, 5, padding=2),
    *(Gated(16) for _ in range(13)),
    *(nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Linear(64, 4)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    total = 0.0
    for beat, kind in loader:
        optimizer.zero_grad()
        loss = criterion(model(beat), kind)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader), model[0].weight.grad.abs().mean().item())
