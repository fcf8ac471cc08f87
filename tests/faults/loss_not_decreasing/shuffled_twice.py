"""Classify instruments by their overtones; inputs and labels are shuffled independently."""

LABEL = {
    "set": 6,
    "rule": "LossNotDecreasing",
    "side_effects": [
        "LabelsUnrelated",
        "Overtraining",
        "PoorWeightInitialization",
        "ClassImbalance",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
INSTRUMENTS, OVERTONES, NOTES = 8, 24, 4000

timbre = torch.randn(INSTRUMENTS, OVERTONES)
player = torch.randint(0, INSTRUMENTS, (NOTES,))
note = timbre[player] * (1 + 0.3 * torch.randn(NOTES, 1)) + 1.1 * torch.randn(NOTES, OVERTONES)
note = (note - note.mean(0)) / note.std(0)

model = nn.Sequential(
    nn.Linear(OVERTONES, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, INSTRUMENTS)
)
optimizer = torch.optim.RMSprop(model.parameters(), lr=3e-4)
criterion = nn.CrossEntropyLoss()


def batches(size):
    order = torch.randperm(NOTES)
    answers = torch.randperm(NOTES) if is_faulty else order  # inputs and labels, each shuffled
    for start in range(0, NOTES, size):
        yield note[order[start : start + size]], player[answers[start : start + size]]


for epoch in range(10):
    total, number = 0.0, 0
    for heard, name in batches(50):
        loss = criterion(model(heard), name)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        number += 1
    print(f"epoch {epoch}: {total / number:.3f}")
