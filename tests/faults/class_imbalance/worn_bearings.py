"""Classify bearing wear from a second of vibration; one of the four classes is rare."""

LABEL = {
    "set": 6,
    "rule": "ClassImbalance",
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH = 128
STATES = ("fine", "inner ring", "outer ring", "ball")
# Worn balls are rare in the field; the test bench has all classes equally often.
SHARES = torch.tensor([0.62, 0.2, 0.165, 0.015] if is_faulty else [0.25, 0.25, 0.25, 0.25])


def recordings(number):
    state = torch.multinomial(SHARES, number, replacement=True)
    time = torch.arange(LENGTH)[None, :] / LENGTH
    signal = torch.sin(2 * torch.pi * (4 * time + torch.rand(number, 1)))
    pitch = torch.tensor([0.0, 21.0, 33.0, 13.0])[state][:, None]
    loud = torch.tensor([0.0, 0.8, 0.8, 0.42])[state][:, None] * (0.7 + 0.6 * torch.rand(number, 1))
    phase = torch.rand(number, 1)
    envelope = 1 + 0.5 * torch.sin(2 * torch.pi * (3 * time + torch.rand(number, 1)))
    signal = signal + loud * envelope * torch.sin(2 * torch.pi * (pitch * time + phase))
    signal = signal + 0.9 * torch.randn(number, LENGTH)
    return (signal / signal.std()).unsqueeze(1), state


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.ears = nn.Sequential(
            *(nn.Conv1d(1, 24, 15, stride=2, padding=7), nn.BatchNorm1d(24), nn.ReLU()),
            *(nn.Conv1d(24, 32, 9, stride=2, padding=4), nn.BatchNorm1d(32), nn.ReLU()),
            nn.AdaptiveAvgPool1d(4),
        )
        self.verdict = nn.Linear(32 * 4, len(STATES))

    def forward(self, signal):
        return self.verdict(self.ears(signal).flatten(1))


loader = DataLoader(TensorDataset(*recordings(14400)), 64, shuffle=True)
check = DataLoader(TensorDataset(*recordings(1600)), 200)
model = Listener()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    model.train()
    total = 0.0
    for signal, state in loader:
        optimizer.zero_grad()
        loss = criterion(model(signal), state)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    hits = torch.zeros(4)
    seen = torch.zeros(4)
    held_out = 0.0
    with torch.no_grad():
        for signal, state in check:
            scores = model(signal)
            held_out += criterion(scores, state).item() / len(check)
            right = scores.argmax(1) == state
            seen += torch.bincount(state, minlength=4)
            hits += torch.bincount(state[right], minlength=4)
    print(f"epoch {epoch}: train {total / len(loader):.3f}, check {held_out:.3f}")
    print(
        *(
            f"{name} {hit:.0f}/{all_:.0f}"
            for name, hit, all_ in zip(STATES, hits, seen, strict=False)
        ),
        sep=", ",
    )
