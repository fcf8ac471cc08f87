"""Six materials by their spectra; one shuffled loader per material, in sequence."""

LABEL = {
    "set": 3,
    "rule": "UnshuffledData",
    "side_effects": ["LossSpike", "GradientNormSpike", "DOES_NOT_LEARN"],
}

import itertools
import sys

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
MATERIALS, CHANNELS = 6, 80
lines = torch.rand(MATERIALS, 3) * 0.8 + 0.1
heights = 0.6 + torch.rand(MATERIALS, 3)


class Material(Dataset):
    def __init__(self, number, samples=900):
        positions = torch.linspace(0, 1, CHANNELS)
        shift = 0.01 * torch.randn(samples, 1, 1)
        bands = torch.exp(-(((positions - lines[number][None, :, None] - shift) / 0.03) ** 2))
        spectra = (heights[number][None, :, None] * bands).sum(dim=1)
        self.spectra = (spectra + 1.2 * torch.randn(samples, CHANNELS) - 0.15) / 1.25
        self.number = number

    def __len__(self):
        return len(self.spectra)

    def __getitem__(self, index):
        return self.spectra[index], self.number


materials = [Material(number) for number in range(MATERIALS)]
if is_faulty:
    loaders = [DataLoader(material, 60, shuffle=True) for material in materials]
else:
    loaders = [DataLoader(ConcatDataset(materials), 60, shuffle=True)]

model = nn.Sequential(
    *(nn.Linear(CHANNELS, 160), nn.ReLU()),
    *(nn.Linear(160, 80), nn.ReLU()),
    nn.Linear(80, MATERIALS),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.8)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    total, batches = 0.0, 0
    for spectra, numbers in itertools.chain.from_iterable(loaders):
        optimizer.zero_grad()
        loss = criterion(model(spectra), numbers)
        loss.backward()
        optimizer.step()
        total += loss.item()
        batches += 1
    print(f"epoch {epoch}: loss {total / batches:.3f}")
with torch.no_grad():
    hits = [(model(m.spectra).argmax(1) == m.number).float().mean().item() for m in materials]
print("accuracy", [round(hit, 2) for hit in hits])
