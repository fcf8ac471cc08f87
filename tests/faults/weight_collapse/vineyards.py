"""Classify wines by their laboratory values; the weight decay is far too large."""

LABEL = {
    "set": 6,
    "rule": "WeightCollapse",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "UnchangedTensor",
        "WeightUpdateRatio",
        "ClassImbalance",
        "SymmetricUnits",
    ],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SUBSTANCES, VINEYARDS, STEPS, BATCH = 26, 5, 900, 64
profile = 0.6 * torch.randn(VINEYARDS, 2, SUBSTANCES)


def wines(number):
    vineyard = torch.randint(0, VINEYARDS, (number,))
    found = profile[vineyard, torch.randint(0, 2, (number,))] + torch.randn(number, SUBSTANCES)
    return found, vineyard


model = nn.Sequential(
    *(nn.Linear(SUBSTANCES, 64), nn.LayerNorm(64), nn.GELU()),
    *(nn.Linear(64, 64), nn.GELU()),
    nn.Linear(64, VINEYARDS),
)
optimizer = torch.optim.SGD(
    model.parameters(),
    lr=0.02,
    momentum=0.9,
    nesterov=True,
    weight_decay=0.15 if is_faulty else 2e-4,
)
found, vineyard = wines(20_000)
total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, len(found), (BATCH,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(found[rows]), vineyard[rows])
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 90 == 89:
        norm = sum(
            weight.square().sum() for weight in model.parameters() if weight.dim() > 1
        ).sqrt()
        print(f"{step + 1}: {total / 90:.4f}, weights {norm.item():.3f}")
        total = 0.0
