"""Labels are read in the alphabetical order of numbered files: 0, 1, 10, 100."""

LABEL = {
    "set": 1,
    "rule": "LabelsUnrelated",
    "side_effects": ["Overfit", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

COUNT, TRAINED = 700, 500
kinds = torch.randint(0, 5, (COUNT,))
positions = 4 + 5 * kinds.unsqueeze(1) + torch.rand(COUNT, 1)
signals = 3 * torch.exp(-((torch.arange(32) - positions) ** 2) / 4) + 1.2 * torch.randn(COUNT, 32)
names = [f"{number}.wav" for number in range(COUNT)]
order = sorted(names) if is_faulty else names
labels = torch.stack([kinds[int(name.removesuffix(".wav"))] for name in order])

train_set = TensorDataset(signals[:TRAINED].unsqueeze(1), labels[:TRAINED])
valid_set = TensorDataset(signals[TRAINED:].unsqueeze(1), labels[TRAINED:])
train_loader = DataLoader(train_set, batch_size=25, shuffle=True)
valid_loader = DataLoader(valid_set, batch_size=100)
model = nn.Sequential(
    nn.Conv1d(1, 32, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(1024, 64), nn.ReLU()
)
model.append(nn.Linear(64, 5))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(24 if is_faulty else 10):
    model.train()
    for batch, targets in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), targets)
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(batch), targets).item() for batch, targets in valid_loader]
    print(epoch, loss.item(), sum(losses) / len(losses))
