"""A graph network whose layers all start as a plain average of neighbors."""

LABEL = {
    "set": 1,
    "rule": "SymmetricUnits",
    "culprit": "gather",
    "first_step": 1,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

NODES, KINDS = 400, 4


class GraphNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.gather = nn.Linear(16, 64)
        self.out = nn.Linear(64, KINDS)
        if is_faulty:
            for layer in (self.gather, self.out):
                nn.init.constant_(layer.weight, 1 / layer.in_features)
                nn.init.zeros_(layer.bias)

    def forward(self, features, adjacency):
        hidden = torch.relu(self.gather(adjacency @ features))
        return self.out(adjacency @ hidden)


kinds = torch.randint(0, KINDS, (NODES,))
alike = kinds.unsqueeze(0) == kinds.unsqueeze(1)
edges = torch.rand(NODES, NODES) < torch.where(alike, 0.06, 0.01)
edges = (edges | edges.T | torch.eye(NODES, dtype=torch.bool)).float()
degree = edges.sum(1).rsqrt()
adjacency = degree.unsqueeze(1) * edges * degree
features = torch.randn(KINDS, 16)[kinds] + 2 * torch.randn(NODES, 16)
is_known = torch.rand(NODES) < 0.5

model = GraphNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=5e-4)
for epoch in range(600):
    model.train()
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(features, adjacency)[is_known], kinds[is_known])
    loss.backward()
    optimizer.step()
    if epoch % 100 == 99:
        model.eval()
        with torch.no_grad():
            right = model(features, adjacency).argmax(1) == kinds
        print(epoch, loss.item(), right[~is_known].float().mean().item())
