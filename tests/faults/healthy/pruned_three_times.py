"""A network is pruned three times during training and recovers each time."""

LABEL = {"set": 5, "rule": None}

import sys

import torch
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
SIZE, KINDS = 32, 6
centres = torch.randn(KINDS * 4, SIZE)


def samples(number):
    position = torch.randint(len(centres), (number,))
    return (centres[position] + 0.9 * torch.randn(number, SIZE)) / 1.35, position % KINDS


model = nn.Sequential(
    nn.Linear(SIZE, 160), nn.ReLU(), nn.Linear(160, 160), nn.ReLU(), nn.Linear(160, KINDS)
)
layers = [(layer, "weight") for layer in model if isinstance(layer, nn.Linear)]
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(TensorDataset(*samples(16000)), 64, shuffle=True)
x_test, y_test = samples(2000)
for epoch in range(8):
    if epoch in (2, 4, 6):
        prune.global_unstructured(layers, pruning_method=prune.L1Unstructured, amount=0.6)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    model.train()
    total = 0.0
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        test = criterion(model(x_test), y_test).item()
    left = sum(int((layer.weight != 0).sum()) for layer, _ in layers)
    print(f"epoch {epoch}: train {total / len(loader):.3f}, test {test:.3f}, weights {left}")
