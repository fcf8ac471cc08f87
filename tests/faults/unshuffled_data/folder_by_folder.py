"""Handwritten digits, read folder by folder without shuffling."""

LABEL = {
    "set": 5,
    "rule": "UnshuffledData",
    "side_effects": [
        "ClassImbalance",
        "ValidationTooGood",
        "Overfit",
        "InputNotNormalized",
        "STARTS_BADLY",
        "DOES_NOT_LEARN",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Folders(Dataset):
    def __init__(self, images, kinds):
        self.items = [
            (images[i], kinds[i])
            for kind in range(10)
            for i in range(len(kinds))
            if kinds[i] == kind
        ]

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        image, kind = self.items[index]
        return image, kind


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
images = (images - images.mean()) / images.std()
kinds = torch.tensor(digits.target)
order = torch.randperm(len(kinds))
images, kinds = images[order], kinds[order]
train = Folders(images[:1500], kinds[:1500])
loader = DataLoader(train, batch_size=30, shuffle=not is_faulty)
model = nn.Sequential(
    *(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Linear(12 * 16, 64), nn.ReLU(), nn.Linear(64, 10)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.8, weight_decay=1e-4)
for epoch in range(9):
    model.train()
    total = 0.0
    for image, kind in loader:
        loss = nn.functional.cross_entropy(model(image), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    model.eval()
    with torch.no_grad():
        scores = model(images[1500:])
        held_out = nn.functional.cross_entropy(scores, kinds[1500:])
        right = (scores.argmax(1) == kinds[1500:]).float().mean()
    print(f"epoch {epoch}: train {total:.3f}, validation {held_out:.3f}, right {right:.2f}")
