"""Handwritten digits; eps of Adam is 1e8 instead of 1e-8."""

LABEL = {
    "set": 3,
    "rule": "WeightUpdateRatio",
    "alternatives": ["LossNotDecreasing"],
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

settings = {
    "batch_size": 64,
    "epochs": 12,
    "optimizer": {"lr": 1e-3, "betas": (0.9, 0.99), "eps": 1e8 if is_faulty else 1e-8},
}

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
images = (images - images.mean()) / images.std()
labels = torch.tensor(digits.target)
order = torch.randperm(len(labels))
train, test = order[:1500], order[1500:]
loader = DataLoader(
    TensorDataset(images[train], labels[train]),
    settings["batch_size"],
    shuffle=True,
    drop_last=True,
)


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Conv2d(1, 16, 3, padding=1)
        self.high = nn.Conv2d(16, 32, 3, padding=1)
        self.head = nn.Linear(32 * 4 * 4, 10)
        self.dropout = nn.Dropout(0.2)

    def forward(self, x):
        x = torch.relu(self.low(x))
        x = nn.functional.max_pool2d(torch.relu(self.high(x)), 2)
        return self.head(self.dropout(x.flatten(1)))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), **settings["optimizer"])
criterion = nn.CrossEntropyLoss()
for epoch in range(settings["epochs"]):
    total = 0.0
    for image, label in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")

model.eval()
with torch.no_grad():
    hits = (model(images[test]).argmax(1) == labels[test]).float().mean().item()
print(f"accuracy {hits:.3f}")
