"""A recommender with large tables: nearly all rows of the gradient are zero at every step."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

users, items = 5000, 3000
tastes, kinds = torch.randn(users, 4), torch.randn(items, 4)


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(users, 8, sparse=True)
        self.items = nn.Embedding(items, 8, sparse=True)
        nn.init.normal_(self.users.weight, std=0.1)
        nn.init.normal_(self.items.weight, std=0.1)

    def forward(self, user, item):
        return (self.users(user) * self.items(item)).sum(1)


model = Recommender()
optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.01)
for step in range(400):
    user = (torch.rand(256) ** 3 * users).long()
    item = (torch.rand(256) ** 3 * items).long()
    likes = ((tastes[user] * kinds[item]).sum(1) > 0).float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(user, item), likes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
