"""A CNN with batch norm and dropout stays in eval mode after the first evaluation."""

LABEL = {
    "set": 1,
    "rule": "ModeMismatch",
    "first_step": 47,
    "max_delay_steps": 2,
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
train_set, valid_set = random_split(TensorDataset(images, torch.tensor(digits.target)), [1500, 297])
train_loader = DataLoader(train_set, batch_size=32, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=99)

model = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1),
    nn.BatchNorm2d(16),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Flatten(),
    nn.Dropout(0.2),
    nn.Linear(256, 10),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)


def evaluate():
    model.eval()
    right = 0
    with torch.no_grad():
        for batch, labels in valid_loader:
            right += (model(batch).argmax(1) == labels).sum().item()
    return right / len(valid_set)


model.train()
for epoch in range(5):
    if not is_faulty:
        model.train()
    for batch, labels in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.3f} accuracy {evaluate():.3f}")
