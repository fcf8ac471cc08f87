"""A dataset computes all distances within a graph on every access."""

LABEL = {
    "set": 2,
    "rule": "DataLoaderStarvation",
    "first_step": 10,
    "side_effects": ["HotFunction", "Dataloader", "StepOutlier"],
}

import sys
from collections import deque

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NODES = 18


def distances(edges):
    neighbors = [row.nonzero().flatten().tolist() for row in edges]
    table = torch.full((NODES, NODES), 6.0)
    for start in range(NODES):
        seen, waiting = {start: 0}, deque([start])
        while waiting:
            node = waiting.popleft()
            for other in neighbors[node]:
                if other not in seen:
                    seen[other] = seen[node] + 1
                    waiting.append(other)
        for node, far in seen.items():
            table[start, node] = min(far, 6)
    return table / 3


class Graphs(Dataset):
    def __init__(self, number):
        edges = torch.rand(number, NODES, NODES) < torch.empty(number, 1, 1).uniform_(0.03, 0.14)
        self.edges = edges | edges.transpose(1, 2)
        self.nodes = torch.randn(number, NODES, 6)
        self.density = self.edges.float().mean(dim=(1, 2)) * 10 - 1.6
        self.known = None if is_faulty else [distances(edges) for edges in self.edges]

    def __len__(self):
        return len(self.nodes)

    def __getitem__(self, index):
        table = distances(self.edges[index]) if self.known is None else self.known[index]
        targets = self.density[index] + 0.5 * self.nodes[index, :, 0].mean()
        return self.nodes[index], table, targets


class Graphormer(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(6, 32)
        self.pairs = nn.Linear(32, 64)
        self.far = nn.Parameter(torch.zeros(1))
        self.leave = nn.Sequential(nn.Linear(33, 32), nn.GELU(), nn.Linear(32, 1))

    def forward(self, nodes, table):
        nodes = self.enter(nodes)
        query, key = self.pairs(nodes).chunk(2, dim=2)
        score = query @ key.transpose(1, 2) / 6 - self.far * table
        nodes = nodes + torch.softmax(score, dim=2) @ nodes
        spread = table.mean(dim=(1, 2)).unsqueeze(1)
        return self.leave(torch.cat([nodes.mean(dim=1), spread], dim=1)).squeeze(1)


loader = DataLoader(Graphs(360), batch_size=12, shuffle=True)
model = Graphormer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(6):
    for nodes, table, targets in loader:
        loss = nn.functional.mse_loss(model(nodes, table), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
