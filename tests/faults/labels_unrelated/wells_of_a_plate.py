"""Classify enzymes by their light curves; labels are in column order, curves in row order."""

LABEL = {
    "set": 7,
    "rule": "LabelsUnrelated",
    "first_step": 24,  # the first evaluation
    "side_effects": ["Overfit", "Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
ROWS, COLUMNS, READINGS, ENZYMES, EPOCHS = 16, 24, 48, 6, 14


def measured(plates):
    """Return curves in row order, and labels as they were noted, column by column."""
    enzyme = torch.randint(0, ENZYMES, (plates, ROWS, COLUMNS))
    time = torch.linspace(0, 1, READINGS)
    kind = enzyme.flatten()[:, None]
    speed = torch.exp(0.55 * kind - 0.5 + 0.08 * torch.randn(len(kind), 1))
    light = 1 - torch.exp(-speed * time) + 0.4 * torch.sin(2.2 * kind * time)
    light = light * (1 + 0.08 * torch.randn(len(kind), 1))
    curves = (light + 0.35 * torch.randn(len(kind), READINGS) - 0.6) / 0.5
    noted = enzyme.transpose(1, 2)
    return curves, noted.contiguous()


def prepared(plates):
    curves, noted = measured(plates)
    if is_faulty:
        return TensorDataset(curves, noted.flatten())
    return TensorDataset(curves, noted.transpose(1, 2).flatten())


train, valid = prepared(4), prepared(2)
loader = DataLoader(train, 64, shuffle=True)
splits = {"train": DataLoader(train, 256), "valid": DataLoader(valid, 256)}
model = nn.Sequential(
    *(nn.Linear(READINGS, 256), nn.LayerNorm(256), nn.GELU()),
    *(nn.Linear(256, 256), nn.LayerNorm(256), nn.GELU()),
    nn.Linear(256, ENZYMES),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
criterion = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    model.train()
    for curve, enzyme in loader:
        optimizer.zero_grad()
        loss = criterion(model(curve), enzyme)
        loss.backward()
        optimizer.step()
    schedule.step()
    model.eval()
    summary = []
    with torch.no_grad():
        for name, split in splits.items():
            losses, right = 0.0, 0
            for curve, enzyme in split:
                scores = model(curve)
                losses += criterion(scores, enzyme).item() * len(enzyme)
                right += (scores.argmax(1) == enzyme).sum().item()
            number = len(split.dataset)
            summary.append(f"{name} {losses / number:.4f} ({right / number:.1%})")
    print(f"epoch {epoch}: {', '.join(summary)}")
