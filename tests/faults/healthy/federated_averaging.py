"""Federated averaging: ten hospitals train in turn, a server averages their weights."""

LABEL = {"set": 3, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
HOSPITALS, FEATURES, KINDS = 10, 18, 3

directions = torch.randn(FEATURES, KINDS)


def patients(number):
    rows = torch.randn(number, FEATURES)
    scores = rows @ directions + 0.8 * torch.randn(number, KINDS)
    gain = 1 + 0.1 * torch.randn(1, FEATURES)
    return TensorDataset(gain * rows, scores.argmax(dim=1))


sizes = [240 + 40 * number for number in range(HOSPITALS)]
hospitals = [DataLoader(patients(size), batch_size=40, shuffle=True) for size in sizes]
held_back = DataLoader(patients(1000), batch_size=500)
criterion = nn.CrossEntropyLoss()


def at_hospital(server, loader, rate):
    local = copy.deepcopy(server)
    local.train()
    optimizer = torch.optim.SGD(local.parameters(), lr=rate, momentum=0.5)
    for rows, kinds in loader:
        optimizer.zero_grad()
        criterion(local(rows), kinds).backward()
        optimizer.step()
    return local.state_dict()


def mean_of(states, weights):
    total = sum(weights)
    return {
        name: sum(
            weight / total * state[name] for state, weight in zip(states, weights, strict=True)
        )
        for name in states[0]
    }


@torch.no_grad()
def evaluate(server):
    server.eval()
    losses = [criterion(server(rows), kinds).item() for rows, kinds in held_back]
    return sum(losses) / len(losses)


server = nn.Sequential(
    *(nn.Linear(FEATURES, 48), nn.LayerNorm(48), nn.ReLU(), nn.Dropout(0.1)),
    nn.Linear(48, KINDS),
)
for turn in range(14):
    chosen = torch.randperm(HOSPITALS)[:4].tolist()
    rate = 0.05 * 0.95**turn
    states = [at_hospital(server, hospitals[number], rate) for number in chosen]
    server.load_state_dict(mean_of(states, [sizes[number] for number in chosen]))
    print(turn, evaluate(server))
