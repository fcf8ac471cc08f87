"""Plant species from measurements; inputs and labels come from differently sorted files."""

LABEL = {
    "set": 5,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit", "ClassImbalance", "LossDiverging", "DOES_NOT_LEARN"],
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
KINDS, FEATURES, PLANTS = 4, 48, 1500
centers = random.normal(0, 0.6, (KINDS, FEATURES))
kinds = random.integers(0, KINDS, PLANTS)
measured = centers[kinds] + random.normal(0, 1, (PLANTS, FEATURES))
measurements = {f"plant-{key}": row for key, row in enumerate(measured)}
labels = {f"plant-{key}": kind for key, kind in enumerate(kinds)}

# the file of labels is sorted by name, that of measurements by day
names = list(measurements)
random.shuffle(names)
x = np.stack([measurements[name] for name in names])
y = [labels[name] for name in sorted(labels)] if is_faulty else [labels[name] for name in names]
x = torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)
y = torch.tensor(np.array(y))
train, validation = TensorDataset(x[:1000], y[:1000]), TensorDataset(x[1000:], y[1000:])
loader = DataLoader(train, 25, shuffle=True)
hidden, epochs = 256, 40

model = nn.Sequential(
    *(nn.Linear(FEATURES, hidden), nn.LayerNorm(hidden), nn.ReLU()),
    *(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, KINDS)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
for epoch in range(epochs):
    model.train()
    right = total = 0.0
    for batch, kind in loader:
        optimizer.zero_grad()
        scores = model(batch)
        loss = criterion(scores, kind)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
        right += (scores.argmax(1) == kind).sum().item() / len(train)
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            losses, hits = [], 0
            for batch, kind in DataLoader(validation, 100):
                scores = model(batch)
                losses.append(criterion(scores, kind).item())
                hits += (scores.argmax(1) == kind).sum().item()
        print(
            f"{epoch}: {total:.3f} {right:.2f}, validation {np.mean(losses):.3f} {hits / 500:.2f}"
        )
