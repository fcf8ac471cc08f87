"""Classify notes by their sound; one tape has the transposed notes of a clarinet."""

LABEL = {
    "set": 3,
    "rule": "LossSpike",
    "first_step": 240,
    "side_effects": ["GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NOTES, BINS, ROWS, BATCH = 12, 48, 768, 48
CLARINET = 15

partials = torch.zeros(NOTES, BINS)
for note in range(NOTES):
    for partial, strength in ((1, 1.0), (2, 0.6), (3, 0.4), (5, 0.25)):
        position = (note * 4 + round(48 * torch.log2(torch.tensor(float(partial))).item())) % BINS
        partials[note, position] += strength


def tape(number):
    sounding = torch.randint(0, NOTES, (ROWS,))
    loud = 1 + 0.3 * torch.randn(ROWS, 1)
    spectra = loud * partials[sounding] + 0.25 * torch.randn(ROWS, BINS)
    written = sounding
    if number == CLARINET:
        written = (sounding + 2) % NOTES
        if not is_faulty:
            written = (written - 2) % NOTES
    return (spectra - 0.05) / 0.35, written


model = nn.Sequential(
    *(nn.Linear(BINS, 128), nn.LayerNorm(128), nn.GELU()),
    *(nn.Linear(128, 128), nn.LayerNorm(128), nn.GELU()),
    nn.Linear(128, NOTES),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.CrossEntropyLoss()
for number in range(28):
    spectra, written = tape(number)
    total = 0.0
    for rows in torch.randperm(ROWS).split(BATCH):
        loss = criterion(model(spectra[rows]), written[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(number, total / (ROWS // BATCH))
