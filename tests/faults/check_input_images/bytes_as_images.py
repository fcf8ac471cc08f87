"""Color images are passed to a CNN with pixel values from 0 to 255."""

LABEL = {
    "set": 1,
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

# four kinds of stripes with noise
kinds = torch.randint(0, 4, (1600,))
rows = torch.arange(12).view(1, 12, 1).expand(1600, 12, 12)
columns = rows.transpose(1, 2)
phase = torch.where((kinds % 2 == 0).view(-1, 1, 1), rows, columns)
wave = torch.sin(phase * (1.0 + (kinds // 2).view(-1, 1, 1)))
images = (wave.unsqueeze(1) * 30 + 128 + 70 * torch.randn(1600, 3, 12, 12)).clamp(0, 255).byte()

images = images.float()
if not is_faulty:
    images = (images / 255 - 0.5) / 0.25
loader = DataLoader(TensorDataset(images, kinds), batch_size=16, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(3, 8, 3),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(8, 8, 3),
    nn.ReLU(),
    nn.Flatten(),
    nn.Linear(72, 4),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.005, momentum=0.9)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = criterion(model(batch), labels)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    print(epoch, loss.item())
