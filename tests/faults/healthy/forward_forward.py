"""Forward-forward: each layer learns to separate correct digit-label pairs from wrong ones."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Layer(nn.Module):
    def __init__(self, inputs, outputs, threshold=1.0):
        super().__init__()
        self.linear = nn.Linear(inputs, outputs)
        self.threshold = threshold
        self.optimizer = torch.optim.Adam(self.parameters(), lr=2e-3)

    def forward(self, x):
        length = x.norm(dim=1, keepdim=True) / x.shape[1] ** 0.5
        return nn.functional.leaky_relu(self.linear(x / (length + 1e-4)), 0.1)

    def learn(self, true, false):
        good = self(true).pow(2).mean(1) - self.threshold
        bad = self(false).pow(2).mean(1) - self.threshold
        loss = nn.functional.softplus(torch.cat([-good, bad])).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        with torch.no_grad():
            return self(true), self(false), loss.item()


def pair(pictures, labels):
    return torch.cat([pictures, nn.functional.one_hot(labels, 10) * 2.0], dim=1)


@torch.no_grad()
def accuracy(layers, pictures, labels):
    goodness = []
    for label in range(10):
        x, total = pair(pictures, torch.full_like(labels, label)), 0
        for layer in layers:
            x = layer(x)
            total = total + x.pow(2).mean(1)
        goodness.append(total)
    return (torch.stack(goodness).argmax(0) == labels).float().mean().item()


digits = load_digits()
pictures = torch.tensor(digits.data, dtype=torch.float32)
pictures = (pictures - pictures.mean()) / pictures.std()
labels = torch.tensor(digits.target)
order = torch.randperm(1797)
train, test = order[:1400], order[1400:]
layers = nn.ModuleList([Layer(74, 160), Layer(160, 160)])
for epoch in range(12):
    totals = [0.0, 0.0]
    for chosen in train[torch.randperm(1400)].split(70):
        wrong = (labels[chosen] + torch.randint(1, 10, chosen.shape)) % 10
        true, false = pair(pictures[chosen], labels[chosen]), pair(pictures[chosen], wrong)
        for number, layer in enumerate(layers):
            true, false, loss = layer.learn(true, false)
            totals[number] += loss / 20
    print(epoch, totals, accuracy(layers, pictures[test], labels[test]))
