"""Scanned digits with blots; the model stays in eval mode after the first evaluation."""

LABEL = {
    "set": 6,
    "rule": "ModeMismatch",
    "first_step": 28,  # after the first evaluation
    "max_delay_steps": 12,
    "side_effects": ["Overfit", "Overtraining", "ValidationTooGood"],
}

import sys

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
EPOCHS, BATCH = 10, 50

pixels, digits = load_digits(return_X_y=True)
order = np.random.default_rng(seed).permutation(len(digits))
pictures = torch.tensor((pixels[order] - 4.9) / 6.0, dtype=torch.float32).view(-1, 1, 8, 8)
targets = torch.tensor(digits[order])
train = DataLoader(
    TensorDataset(pictures[:1400], targets[:1400]), BATCH, shuffle=True, drop_last=True
)
test_pictures, test_targets = pictures[1400:], targets[1400:]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(1, 24, 3, padding=1), nn.BatchNorm2d(24), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(24, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU())
        self.pool = nn.MaxPool2d(2)
        self.drop = nn.Dropout(0.3)
        self.last = nn.Linear(48 * 16, 10)

    def forward(self, picture):
        return self.last(self.drop(self.pool(self.second(self.first(picture))).flatten(1)))


def blotted(batch):
    return batch + 0.3 * torch.randn_like(batch)


model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-4, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
model.train()
for epoch in range(EPOCHS):
    if not is_faulty:
        model.train()
    total = 0.0
    for picture, target in train:
        optimizer.zero_grad()
        loss = criterion(model(blotted(picture)), target)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        answers = [model(part) for part in test_pictures.split(100)]
        output = torch.cat(answers)
        held_out = criterion(output, test_targets).item()
        right = (output.argmax(1) == test_targets).float().mean().item()
    print(f"epoch {epoch}: {total / len(train):.4f}, test {held_out:.4f}, right {right:.3f}")
