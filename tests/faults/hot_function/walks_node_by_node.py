"""Node embeddings from random walks, which are computed step by step in Python."""

LABEL = {
    "set": 3,
    "rule": "HotFunction",
    "culprit": "walk",
}

import random
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
chance = random.Random(seed)
NODES, GROUPS, FRIENDS, LENGTH, WALKS = 600, 12, 10, 14, 384

groups = torch.arange(NODES) % GROUPS
likely = torch.where(groups[:, None] == groups, 1.0, 0.02).fill_diagonal_(0)
friends = torch.multinomial(likely, FRIENDS)
friend_lists = friends.tolist()


def walk_node_by_node(starts):
    walks = []
    for start in starts.tolist():
        walk = [start]
        while len(walk) < LENGTH:
            nearby = [node for node in friend_lists[walk[-1]] if node not in walk]
            walk.append(chance.choice(nearby or friend_lists[walk[-1]]))
        walks.append(walk)
    return torch.tensor(walks)


def walk_together(starts):
    walks = [starts]
    for choice in torch.randint(0, FRIENDS, (LENGTH - 1, len(starts))):
        walks.append(friends[walks[-1], choice])
    return torch.stack(walks, dim=1)


class Vectors(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = nn.Embedding(NODES, 32)
        self.near = nn.Embedding(NODES, 32)
        nn.init.normal_(self.own.weight, std=0.2)
        nn.init.normal_(self.near.weight, std=0.2)

    def forward(self, nodes, others):
        return (self.own(nodes).unsqueeze(1) * self.near(others)).sum(dim=2)


take_walks = walk_node_by_node if is_faulty else walk_together
model = Vectors()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(400):
    walks = take_walks(torch.randint(0, NODES, (WALKS,)))
    strangers = torch.randint(0, NODES, (WALKS, LENGTH - 1))
    scores = model(walks[:, 0], torch.cat([walks[:, 1:], strangers], dim=1))
    truth = torch.cat([torch.ones(WALKS, LENGTH - 1), torch.zeros(WALKS, LENGTH - 1)], dim=1)
    loss = nn.functional.binary_cross_entropy_with_logits(scores, truth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"{step}: loss {loss.item():.3f}")
