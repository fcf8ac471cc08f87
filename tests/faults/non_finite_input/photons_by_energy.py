"""Elements from the logarithm of X-ray spectra; a dead channel has a count of 0."""

LABEL = {
    "set": 6,
    "rule": "NonFiniteInput",
    "first_step": 200,  # the first batch of the second campaign
    "max_delay_steps": 12,
    "side_effects": [
        "NOT_A_NUMBER",
        "ParameterOutlier",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "LossNotDecreasing",
    ],
}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
random = np.random.default_rng(seed)
BINS, ELEMENTS, BATCH = 80, 6, 40
lines = random.uniform(0.1, 0.9, (ELEMENTS, 3))


def campaign(number, with_dead_channel):
    energy = np.linspace(0, 1, BINS)
    element = random.integers(0, ELEMENTS, number)
    background = 1 + 2 * np.exp(-3 * energy)
    rate = np.repeat(background[None], number, 0)
    for line in range(3):
        center = lines[element, line][:, None] + random.normal(0, 0.02, (number, 1))
        rate += random.uniform(0.2, 2.4, (number, 1)) * np.exp(-(((energy - center) / 0.03) ** 2))
    counts = random.poisson(random.uniform(13, 18, (number, 1)) * rate)
    broken = np.flatnonzero(random.random(number) < with_dead_channel)
    counts[broken, random.integers(0, BINS, len(broken))] = 0
    if not is_faulty:
        counts = np.maximum(counts, 1)
    with np.errstate(divide="ignore"):
        inputs = (np.log10(counts) - 1.35) / 0.22
    return TensorDataset(
        torch.tensor(inputs, dtype=torch.float32).unsqueeze(1), torch.tensor(element)
    )


first = campaign(4000, 0)
second = campaign(4000, 0.12)  # including an old detector
print("empty bins:", *(int(torch.isinf(part.tensors[0]).sum()) for part in (first, second)))

model = nn.Sequential(
    *(nn.Conv1d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(10)),
    *(nn.Flatten(), nn.Linear(320, ELEMENTS)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
criterion = nn.CrossEntropyLoss()
step, total = 0, 0.0
for part in (first, first, torch.utils.data.ConcatDataset([first, second])):
    for spectrum, element in DataLoader(part, BATCH, shuffle=True):
        optimizer.zero_grad()
        loss = criterion(model(spectrum), element)
        loss.backward()
        optimizer.step()
        step, total = step + 1, total + loss.item()
        if step % 40 == 0:
            print(f"{step}: {total / 40:.4f}")
            total = 0.0
