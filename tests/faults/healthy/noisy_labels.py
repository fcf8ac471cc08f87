"""Bird calls with 40% wrong training labels and a clean test set."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
BANDS, BIRDS, EPOCHS = 40, 10, 6
call = torch.randn(BIRDS, BANDS)


def calls(number):
    bird = torch.randint(0, BIRDS, (number,))
    return (call[bird] + 1.3 * torch.randn(number, BANDS)) / 1.6, bird


heard, bird = calls(15_000)
wrong = torch.rand(len(bird)) < 0.4
label = torch.where(wrong, torch.randint(0, BIRDS, bird.shape), bird)
test_heard, test_bird = calls(1500)
loader = DataLoader(TensorDataset(heard, label), 100, shuffle=True)

model = nn.Sequential(nn.Linear(BANDS, 128), nn.ReLU(), nn.Dropout(0.3), nn.Linear(128, BIRDS))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(loader))
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for inputs, targets in loader:
        share = torch.distributions.Beta(0.4, 0.4).sample().item()
        other = torch.randperm(len(targets))
        scores = model(share * inputs + (1 - share) * inputs[other])
        loss = share * F.cross_entropy(scores, targets) + (1 - share) * F.cross_entropy(
            scores, targets[other]
        )
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        scores = model(test_heard)
        right = (scores.argmax(1) == test_bird).float().mean().item()
        held_out = F.cross_entropy(scores, test_bird).item()
    print(f"epoch {epoch}: {total / len(loader):.4f}, test {held_out:.4f}, right {right:.3f}")
