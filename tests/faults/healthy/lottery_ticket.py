"""Lottery tickets: train, prune the smallest weights, rewind the others, and repeat."""

LABEL = {"set": 1, "rule": None}

import copy
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import prune

torch.manual_seed(int(sys.argv[2]))
digits = load_digits()
X = torch.tensor(digits.data, dtype=torch.float32) / 16
Y = torch.tensor(digits.target)
order = torch.randperm(len(X))
tr, te = order[:1400], order[1400:]
model = nn.Sequential(
    nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 10)
)
initial = copy.deepcopy(model.state_dict())
layers = [m for m in model if isinstance(m, nn.Linear)]


def train(epochs):
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(epochs):
        for idx in tr[torch.randperm(len(tr))].split(56):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(X[idx]), Y[idx])
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        return loss.item(), (model(X[te]).argmax(1) == Y[te]).float().mean().item()


for round_ in range(5):
    loss, acc = train(5)
    left = sum(int((m.weight != 0).sum()) for m in layers) / sum(m.weight.numel() for m in layers)
    print(f"round {round_}: {left:.0%} of the weights, loss {loss:.3f}, accuracy {acc:.3f}")
    for m in layers[:-1]:
        prune.l1_unstructured(m, "weight", amount=0.4)
    with torch.no_grad():
        for i, m in enumerate(model):
            if isinstance(m, nn.Linear):
                (m.weight_orig if hasattr(m, "weight_orig") else m.weight).copy_(
                    initial[f"{i}.weight"]
                )
                m.bias.copy_(initial[f"{i}.bias"])
for m in layers[:-1]:
    prune.remove(m, "weight")
