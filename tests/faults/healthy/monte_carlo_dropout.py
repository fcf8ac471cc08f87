"""Age of bridges with Monte Carlo dropout: thirty predictions with dropout enabled."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
MARKS, EPOCHS = 18, 8
wear = torch.randn(MARKS, 4) / MARKS**0.5


def bridges(number):
    marks = torch.randn(number, MARKS)
    age = torch.tanh(marks @ wear).sum(1, keepdim=True)
    return marks, (age + 0.3 * torch.randn(number, 1)) / 1.3


model = nn.Sequential(
    *(nn.Linear(MARKS, 96), nn.ReLU(), nn.Dropout(0.1)),
    *(nn.Linear(96, 96), nn.ReLU(), nn.Dropout(0.1)),
    nn.Linear(96, 1),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.02)
criterion = nn.MSELoss()
loader = DataLoader(TensorDataset(*bridges(9000)), 30, shuffle=True)
marks, age = bridges(500)
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    pieces = 1 if epoch < 3 else 3  # larger batches later, by accumulation
    for number, (inputs, targets) in enumerate(loader, 1):
        loss = criterion(model(inputs), targets)
        (loss / pieces).backward()
        total += loss.item()
        if number % pieces == 0:
            optimizer.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        held_out = criterion(model(marks), age).item()
        for layer in model:
            if isinstance(layer, nn.Dropout):
                layer.train()
        predictions = torch.stack([model(marks) for _ in range(30)])
    print(
        f"epoch {epoch}: {total / len(loader):.4f}, test {held_out:.4f}, "
        f"doubt {predictions.std(0).mean().item():.3f}"
    )
