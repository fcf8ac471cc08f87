"""Signals are encoded by convolutions under a no_grad left over from first experiments."""

LABEL = {
    "set": 1,
    "rule": "NoGradient",
    "culprit": "encoder",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Recognizer(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv1d(1, 12, 5, stride=2), nn.GELU(), nn.Conv1d(12, 24, 5, stride=2), nn.GELU()
        )
        self.norm = nn.LayerNorm(24)
        self.out = nn.Linear(24, 4)

    def forward(self, signal):
        with torch.set_grad_enabled(not is_faulty):
            features = self.encoder(signal).amax(2)
        return self.out(self.norm(features))


def draw(count):
    kinds = torch.randint(0, 4, (count,))
    times = torch.linspace(0, 12, 64)
    waves = torch.sin(times * (kinds + 1).unsqueeze(1) + 6.28 * torch.rand(count, 1))
    return (waves + 0.8 * torch.randn(count, 64)).unsqueeze(1), kinds


model = Recognizer()
optimizer = torch.optim.NAdam(model.parameters(), lr=2e-3)
for step in range(300):
    signals, kinds = draw(40)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(signals), kinds)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
