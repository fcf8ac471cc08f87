"""A citation graph: the same graph is the input of every step and every evaluation."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
NODES, FIELDS = 1200, 6

fields = torch.randint(0, FIELDS, (NODES,))
near = torch.where(fields[:, None] == fields, 0.012, 0.0015)
links = torch.bernoulli(near).triu(1)
links = links + links.T + torch.eye(NODES)
degree = links.sum(dim=1)
spread = (links / (degree[:, None] * degree).sqrt()).to_sparse()
topics = torch.randn(FIELDS, 64)
words = 0.4 * topics[fields] + torch.randn(NODES, 64)
order = torch.randperm(NODES)
train, held_back = order[:700], order[700:]


class Citations(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(64, 32)
        self.second = nn.Linear(32, FIELDS)
        self.dropout = nn.Dropout(0.5)

    def forward(self, words):
        nodes = torch.relu(torch.sparse.mm(spread, self.first(self.dropout(words))))
        return torch.sparse.mm(spread, self.second(self.dropout(nodes)))


model = Citations()
optimizer = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=2e-3)
for step in range(150):
    model.train()
    loss = nn.functional.cross_entropy(model(words)[train], fields[train])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            outputs = model(words)[held_back]
            error = nn.functional.cross_entropy(outputs, fields[held_back])
        right = (outputs.argmax(dim=1) == fields[held_back]).float().mean()
        print(step, loss.item(), error.item(), right.item())
