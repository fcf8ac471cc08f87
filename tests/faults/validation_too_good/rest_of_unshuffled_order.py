"""Minerals by their spectra; validation takes the rest of the unshuffled order."""

LABEL = {
    "set": 4,
    "rule": "ValidationTooGood",
    "first_step": 63,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def measure(count=2500, bands=80, minerals=6):
    lines = torch.rand(minerals, 4) * bands
    heights = 0.5 + torch.rand(minerals, 4)
    kind = torch.randint(0, minerals, (count,))
    position = lines[kind] + torch.randn(count, 4)
    shape = torch.exp(-((torch.arange(bands) - position[..., None]) ** 2) / 8)
    spectra = (heights[kind][..., None] * shape).sum(dim=1)
    spectra = spectra + 1.2 * torch.randn(count, bands)
    return (spectra - spectra.mean()) / spectra.std(), kind


spectra, minerals = measure()
order = torch.randperm(len(spectra))
cut = int(0.8 * len(spectra))
train = TensorDataset(spectra[order[:cut]], minerals[order[:cut]])
if is_faulty:
    rest = TensorDataset(spectra[cut:], minerals[cut:])
else:
    rest = TensorDataset(spectra[order[cut:]], minerals[order[cut:]])
train_loader = DataLoader(train, 32, shuffle=True)
rest_loader = DataLoader(rest, 50)

model = nn.Sequential(nn.Linear(80, 128), nn.GELU(), nn.Dropout(0.3), nn.Linear(128, 6))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    total = 0.0
    for spectrum, mineral in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(spectrum), mineral)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    validation = hits = 0
    with torch.no_grad():
        for spectrum, mineral in rest_loader:
            outputs = model(spectrum)
            validation += criterion(outputs, mineral).item()
            hits += (outputs.argmax(1) == mineral).sum().item()
    print(epoch, total / len(train_loader), validation / len(rest_loader), hits / len(rest))
