"""Predict friendships; batches of sampled neighborhoods have different sizes."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
PEOPLE = 1500

positions = torch.randn(PEOPLE, 3)
far = torch.cdist(positions, positions) + 10 * torch.eye(PEOPLE)
friends = far.topk(8, dim=1, largest=False).indices
features = torch.cat([positions + 0.5 * torch.randn(PEOPLE, 3), torch.randn(PEOPLE, 9)], dim=1)


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.own = nn.Linear(12, 32)
        self.around = nn.Linear(12, 32)
        self.out = nn.Linear(32, 16)

    def forward(self, nodes):
        drawn = friends[nodes[:, None], torch.randint(0, 8, (len(nodes), 4))]
        hidden = self.own(features[nodes]) + self.around(features[drawn].mean(dim=1))
        return self.out(torch.relu(hidden))


class Links(nn.Module):
    def __init__(self):
        super().__init__()
        self.sage = Sage()
        self.scale = nn.Parameter(torch.ones(1))
        self.shift = nn.Parameter(torch.zeros(1))

    def forward(self, left, right):
        apart = (self.sage(left) - self.sage(right)).square().mean(dim=1)
        return self.shift - self.scale * apart


model = Links()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(450):
    people = torch.randperm(PEOPLE)[: int(torch.randint(20, 200, (1,)))]
    left = people.repeat_interleave(3)
    neighbors = friends[left, torch.randint(0, 8, (len(left),))]
    stranger = torch.randint(0, PEOPLE, (len(left),))
    scores = model(left.repeat(2), torch.cat([neighbors, stranger]))
    is_known = torch.cat([torch.ones(len(left)), torch.zeros(len(left))])
    loss = nn.functional.binary_cross_entropy_with_logits(scores, is_known)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 90 == 0:
        print(step, loss.item())
