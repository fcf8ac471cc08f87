"""Classify gestures by their beginning; a GRU treats the time axis as the batch axis."""

LABEL = {
    "set": 3,
    "rule": "LossNotDecreasing",
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
MOVEMENTS, TIMES, SENSORS = 6400, 16, 6

gestures = torch.randint(0, 4, (MOVEMENTS,))
shapes = torch.randn(4, 6, SENSORS)
movements = 0.6 * torch.randn(MOVEMENTS, TIMES, SENSORS)
movements[:, :6] += shapes[gestures]
dataset = TensorDataset(movements, gestures)
loader = DataLoader(dataset, batch_size=64, shuffle=True, drop_last=True)


class Watcher(nn.Module):
    def __init__(self):
        super().__init__()
        self.lift = nn.Linear(SENSORS, 32)
        if is_faulty:
            self.memory = nn.GRU(32, 32)
        else:
            self.memory = nn.GRU(32, 32, batch_first=True)
        self.leave = nn.Linear(32, 4)

    def forward(self, movements):
        states, _ = self.memory(torch.tanh(self.lift(movements)))
        return self.leave(states[:, -1])


model = Watcher()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    total, right = 0.0, 0
    for movement, gesture in loader:
        guesses = model(movement)
        loss = criterion(guesses, gesture)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 2.0)
        optimizer.step()
        total += loss.item()
        right += (guesses.argmax(dim=1) == gesture).sum().item()
    print(epoch, total / len(loader), right / MOVEMENTS)
