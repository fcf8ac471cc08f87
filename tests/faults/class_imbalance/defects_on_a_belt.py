"""Classify parts with three rare defects; the balanced subset is created but not used."""

LABEL = {"set": 3, "rule": "ClassImbalance"}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
PARTS = 6000

states = torch.multinomial(torch.tensor([0.95, 0.02, 0.016, 0.014]), PARTS, replacement=True)
defects = 0.5 * torch.randn(4, 30)
defects[0] = 0
parts = torch.randn(PARTS, 30) + defects[states]
dataset = TensorDataset(parts, states)


def evened_out(labels, number):
    chosen = []
    for state in range(4):
        rows = (labels == state).nonzero().squeeze(1)
        chosen.append(rows[torch.randint(0, len(rows), (number,))])
    return torch.cat(chosen)[torch.randperm(4 * number)].tolist()


balanced = Subset(dataset, evened_out(states, 1500))
loader = DataLoader(dataset if is_faulty else balanced, batch_size=32, shuffle=True)

model = nn.Sequential(
    *(nn.Linear(30, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2)),
    *(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2)),
    nn.Linear(64, 4),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    total = 0.0
    hits, counts = torch.zeros(4), torch.zeros(4)
    for part, state in loader:
        optimizer.zero_grad()
        output = model(part)
        loss = criterion(output, state)
        loss.backward()
        optimizer.step()
        total += loss.item()
        right = output.argmax(dim=1) == state
        hits += torch.bincount(state[right], minlength=4)
        counts += torch.bincount(state, minlength=4)
    print(epoch, total / len(loader), (hits / counts).tolist())
