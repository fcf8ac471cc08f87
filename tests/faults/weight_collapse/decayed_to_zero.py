"""SGD with a weight decay of 0.5: weights shrink faster than they learn."""

LABEL = {
    "set": 1,
    "rule": "WeightCollapse",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "DeadRelu"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 16 - 0.3
loader = DataLoader(TensorDataset(images, torch.tensor(digits.target)), 32, shuffle=True)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Conv2d(8, 16, 3), nn.ReLU(), nn.Flatten(), nn.Linear(256, 10)
)
optimizer = torch.optim.SGD(
    model.parameters(), lr=0.05, momentum=0.9, weight_decay=0.5 if is_faulty else 5e-4
)
for epoch in range(5):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
