"""Images and labels have barcodes; images are sorted by them, labels are not."""

LABEL = {
    "set": 3,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit"],
}

import random
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
scanner = random.Random(seed)

digits = load_digits()
codes = [f"{scanner.getrandbits(40):010x}" for _ in digits.target]
pictures_by_code = dict(zip(codes, digits.images, strict=True))
labels_by_code = dict(zip(codes, digits.target, strict=True))


def load():
    names = sorted(pictures_by_code)
    pictures = [torch.tensor(pictures_by_code[name], dtype=torch.float32) for name in names]
    if is_faulty:
        labels = list(labels_by_code.values())
    else:
        labels = [labels_by_code[name] for name in names]
    pictures = torch.stack(pictures).flatten(1)
    return (pictures - pictures.mean()) / pictures.std(), torch.tensor(labels)


pictures, labels = load()
split = 900
train = TensorDataset(pictures[:split], labels[:split])
validation = TensorDataset(pictures[split:], labels[split:])
loader = DataLoader(train, 50, shuffle=True)
validation_loader = DataLoader(validation, 300)

model = nn.Sequential(
    *(nn.Linear(64, 512), nn.ReLU()),
    *(nn.Linear(512, 256), nn.ReLU()),
    nn.Linear(256, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=8e-4, weight_decay=1e-4)
criterion = nn.CrossEntropyLoss()
for epoch in range(30):
    model.train()
    total, hits = 0.0, 0
    for x, y in loader:
        scores = model(x)
        loss = criterion(scores, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
        hits += (scores.argmax(1) == y).sum().item()
    if epoch % 3 == 2:
        model.eval()
        with torch.no_grad():
            held_out = sum(criterion(model(x), y).item() for x, y in validation_loader)
        held_out /= len(validation_loader)
        print(f"{epoch}: {total:.3f}, right {hits / split:.2f}, validation {held_out:.3f}")
