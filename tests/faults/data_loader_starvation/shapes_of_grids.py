"""Classify power grids as graphs; eigenvectors are computed on every access."""

LABEL = {
    "set": 7,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import sys

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
random = np.random.default_rng(int(sys.argv[2]))
NODES, PLACES = 49, 8


def tree():
    return [(node, int(random.integers(node))) for node in range(1, NODES)]


def hubs():
    return [(node, int(random.integers(1 + node // 6))) for node in range(1, NODES)]


def ring():
    return [(node, (node + 1) % NODES) for node in range(NODES)]


def mesh():
    across = [(node, node + 1) for node in range(NODES) if node % 7 != 6]
    return across + [(node, node + 7) for node in range(NODES - 7)]


def grid(kind):
    lines = (tree, hubs, ring, mesh)[kind]()
    lines += [tuple(random.choice(NODES, 2, replace=False)) for _ in range(12)]
    adjacency = np.zeros((NODES, NODES), np.float32)
    first, second = np.array(lines).T
    adjacency[first, second] = adjacency[second, first] = 1
    order = random.permutation(NODES)
    return adjacency[order][:, order]


def normalized(adjacency):
    degree = adjacency.sum(1).clip(1)
    return adjacency / np.sqrt(degree[:, None] * degree[None, :])


def places(links):
    _, vectors = np.linalg.eigh(np.eye(NODES) - links)
    return torch.from_numpy(vectors[:, 1 : 1 + PLACES]).float() * NODES**0.5


class Grids(Dataset):
    def __init__(self, number):
        self.kinds = torch.arange(number) % 4
        self.links = [normalized(grid(kind)) for kind in self.kinds.tolist()]
        self.tensors = torch.from_numpy(np.stack(self.links)).float()
        self.places = None if is_faulty else [places(links) for links in self.links]

    def __len__(self):
        return len(self.links)

    def __getitem__(self, index):
        seats = places(self.links[index]) if is_faulty else self.places[index]
        return seats, self.tensors[index], self.kinds[index]


class GraphNet(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.enter = nn.Linear(PLACES, width)
        self.own = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.near = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(3))
        self.leave = nn.Linear(2 * width, 4)

    def forward(self, seats, links):
        # The sign of an eigenvector is arbitrary.
        if self.training:
            seats = seats * (2.0 * torch.randint(2, (len(seats), 1, PLACES)) - 1)
        state = self.enter(seats)
        for own, near, norm in zip(self.own, self.near, self.norm, strict=True):
            state = state + torch.relu(norm(own(state) + near(links @ state)))
        return self.leave(torch.cat([state.mean(1), state.amax(1)], 1))


loader = DataLoader(Grids(2048), 64, shuffle=True)
held_out = DataLoader(Grids(256), 64)
model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    model.train()
    total = 0.0
    for seats, links, kinds in loader:
        optimizer.zero_grad()
        loss = criterion(model(seats, links), kinds)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        unseen = sum(criterion(model(a, b), c).item() for a, b, c in held_out) / len(held_out)
    print(f"epoch {epoch}: {total / len(loader):.3f}, held out {unseen:.3f}")
