"""Classify the calls of four birds; one class is 1% of the data and is not rebalanced."""

LABEL = {
    "set": 2,
    "rule": "ClassImbalance",
    "first_step": 16,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

shares = torch.tensor([0.55, 0.29, 0.15, 0.01])
birds = torch.multinomial(shares, 4800, replacement=True)
rows = torch.arange(20)[None, :, None]
columns = torch.arange(24)[None, None, :]
slope = torch.tensor([0.6, -0.5, 0.0, 0.3])[birds][:, None, None]
height = 10 + 2 * torch.randn(4800, 1, 1) + slope * (columns - 12)
spectra = 2 * torch.exp(-((rows - height) ** 2) / 4) + 0.7 * torch.randn(4800, 20, 24)
spectra = (spectra - spectra.mean()) / spectra.std()
dataset = TensorDataset(spectra.unsqueeze(1), birds)
if is_faulty:
    loader = DataLoader(dataset, 32, shuffle=True)
else:
    weights = 1 / torch.bincount(birds)[birds].float()
    loader = DataLoader(dataset, 32, sampler=WeightedRandomSampler(weights, 4800))

model = nn.Sequential(
    *(nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(8, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Linear(16 * 3 * 4, 4)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for spectrum, bird in loader:
        optimizer.zero_grad()
        loss = criterion(model(spectrum), bird)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
