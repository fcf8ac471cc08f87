"""Handwritten digits with eighteen layers without residual connections."""

LABEL = {
    "set": 2,
    "rule": "VanishingGradient",
    "culprit": "trunk",
    "side_effects": [
        "DOES_NOT_LEARN",
        "UnchangedTensor",
        "WeightUpdateRatio",
        "ParameterNotUpdated",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Deep(nn.Module):
    def __init__(self, width=48, depth=18):
        super().__init__()
        self.trunk = nn.ModuleList([nn.Linear(64, width)])
        self.trunk.extend(nn.Linear(width, width) for _ in range(depth - 1))
        self.classes = nn.Linear(width, 10)

    def forward(self, images):
        hidden = F.gelu(self.trunk[0](images))
        for layer in self.trunk[1:]:
            branch = F.gelu(layer(hidden))
            hidden = branch if is_faulty else hidden + 0.5 * branch
        return self.classes(hidden)


digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32)
images = (images - images.mean()) / images.std()
loader = DataLoader(
    TensorDataset(images, torch.tensor(digits.target)), 32, shuffle=True, drop_last=True
)
model = Deep()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for epoch in range(6):
    for batch, labels in loader:
        loss = F.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
