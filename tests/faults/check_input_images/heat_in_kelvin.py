"""Find overheating parts in thermal images of circuit boards, given in unscaled kelvin."""

LABEL = {
    "set": 3,
    "rule": "CheckInputImages",
    "alternatives": ["InputNotNormalized"],
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "DeadRelu"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIZE = 20


def boards(number):
    part = torch.randint(0, 4, (number,))
    rows = torch.arange(SIZE)[None, :, None]
    columns = torch.arange(SIZE)[None, None, :]
    heat = 301 + 4 * torch.randn(number, 1, 1) + 1.5 * torch.randn(number, SIZE, SIZE)
    for corner in range(4):
        row = 5 + 10 * (corner // 2) + 1.5 * torch.randn(number, 1, 1)
        column = 5 + 10 * (corner % 2) + 1.5 * torch.randn(number, 1, 1)
        warm = 6 + 2 * torch.rand(number, 1, 1) + 5 * (part == corner)[:, None, None]
        heat = heat + warm * torch.exp(-((rows - row) ** 2 + (columns - column) ** 2) / 8)
    return heat.unsqueeze(1), part


class Inspector(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            *(nn.Conv2d(1, 12, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(12, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        )
        self.part = nn.Linear(24 * 25, 4)

    def forward(self, pictures):
        return self.part(self.features(pictures).flatten(1))


pictures, parts = boards(3200)
if not is_faulty:
    pictures = (pictures - pictures.mean()) / pictures.std()
loader = DataLoader(TensorDataset(pictures, parts), 32, shuffle=True)

model = Inspector()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(4):
    total = 0.0
    for picture, part in loader:
        loss = nn.functional.cross_entropy(model(picture), part)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"epoch {epoch}: loss {total / len(loader):.3f}")
