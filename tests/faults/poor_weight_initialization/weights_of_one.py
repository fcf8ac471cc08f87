"""A ReLU network with initial weights of deviation 1, regardless of their number."""

LABEL = {
    "set": 1,
    "rule": "PoorWeightInitialization",
    "side_effects": ["STARTS_BADLY"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32)
x = (x - x.mean()) / x.std()
loader = DataLoader(TensorDataset(x, torch.tensor(digits.target)), 32, shuffle=True)

model = nn.Sequential(
    nn.Linear(64, 96),
    nn.ReLU(),
    nn.Linear(96, 96),
    nn.ReLU(),
    nn.Linear(96, 96),
    nn.ReLU(),
    nn.Linear(96, 10),
)
for module in model:
    if isinstance(module, nn.Linear):
        if is_faulty:
            nn.init.normal_(module.weight)
        else:
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for epoch in range(5):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
