"""Cross-validation that continues with the model of the first fold in all others."""

LABEL = {
    "set": 2,
    "rule": "ValidationTooGood",
    "first_step": 180,
    "side_effects": ["Overtraining", "Overfit"],
}

import sys

import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import KFold
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 0.6
labels = torch.tensor(digits.target)


def begin():
    model = nn.Sequential(
        *(nn.Conv2d(1, 12, 3, padding=1), nn.GELU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(192, 32), nn.GELU(), nn.Linear(32, 10)),
    )
    return model, torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.8)


def train(model, optimizer, chosen):
    model.train()
    for batch in chosen[torch.randperm(len(chosen))].split(32):
        loss = nn.functional.cross_entropy(model(images[batch]), labels[batch])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return loss.item()


@torch.no_grad()
def accuracy(model, chosen):
    model.eval()
    right = 0
    for batch in chosen.split(60):
        outputs = model(images[batch])
        nn.functional.cross_entropy(outputs, labels[batch])
        right += (outputs.argmax(dim=1) == labels[batch]).sum().item()
    return right / len(chosen)


model, optimizer = begin()
for fold, (inside, outside) in enumerate(KFold(5, shuffle=True, random_state=seed).split(images)):
    if not is_faulty:
        model, optimizer = begin()
    for epoch in range(3):
        loss = train(model, optimizer, torch.from_numpy(inside))
        print(fold, epoch, loss, accuracy(model, torch.from_numpy(outside)))
