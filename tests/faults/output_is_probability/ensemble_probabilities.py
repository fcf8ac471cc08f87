"""Three networks classify a digit; their agreed probabilities are passed as scores."""

LABEL = {
    "set": 3,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 8 - 1
loader = DataLoader(TensorDataset(images, torch.tensor(digits.target)), 48, shuffle=True)


class Committee(nn.Module):
    def __init__(self):
        super().__init__()
        self.members = nn.ModuleList(
            nn.Sequential(nn.Linear(64, width), nn.ReLU(), nn.Linear(width, 10))
            for width in (32, 48, 64)
        )

    def forward(self, images):
        opinions = torch.stack([member(images) for member in self.members])
        return opinions.softmax(dim=2).mean(dim=0)


def disagreement(agreed, digits):
    if is_faulty:
        return nn.functional.cross_entropy(agreed, digits)
    return nn.functional.nll_loss(agreed.clamp(min=1e-7).log(), digits)


model = Committee()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(10):
    total, right = 0.0, 0
    for image, digit in loader:
        optimizer.zero_grad()
        agreed = model(image)
        loss = disagreement(agreed, digit)
        loss.backward()
        optimizer.step()
        total += loss.item()
        right += (agreed.argmax(dim=1) == digit).sum().item()
    print(epoch, total / len(loader), right / len(images))
