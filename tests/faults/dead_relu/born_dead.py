"""An MLP whose biases start far below zero, so that its ReLUs are never active."""

LABEL = {
    "set": 1,
    "rule": "DeadRelu",
    "culprit": "relu2",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 64)
        self.relu1 = nn.ReLU()
        self.second = nn.Linear(64, 64)
        self.relu2 = nn.ReLU()
        self.out = nn.Linear(64, 10)
        if is_faulty:
            nn.init.constant_(self.second.bias, -3.0)

    def forward(self, x):
        return self.out(self.relu2(self.second(self.relu1(self.first(x)))))


digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16
x = (x - x.mean()) / x.std()
loader = DataLoader(TensorDataset(x, torch.tensor(digits.target)), 32, shuffle=True)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for epoch in range(5):
    for batch, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
