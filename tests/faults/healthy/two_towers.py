"""Two towers; other rows of a batch are the negatives, and few items are popular."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
USERS, ITEMS = 500, 800

tastes = torch.randn(USERS, 5)
kinds = torch.randn(ITEMS, 5)
popular = 1.2 * torch.randn(ITEMS)
chances = torch.softmax(1.5 * tastes @ kinds.T + popular, dim=1)
bought = torch.multinomial(chances, 40, replacement=True)
shares = torch.bincount(bought.flatten(), minlength=ITEMS).clamp(min=1) / bought.numel()


class Tower(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.table = nn.Embedding(number, 32, sparse=True)
        self.dense = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 16))
        nn.init.normal_(self.table.weight, std=0.3)

    def forward(self, numbers):
        return nn.functional.normalize(self.dense(self.table(numbers)), dim=1)


users, items = Tower(USERS), Tower(ITEMS)
tables = [users.table.weight, items.table.weight]
dense = [*users.dense.parameters(), *items.dense.parameters()]
optimizers = [torch.optim.SparseAdam(tables, lr=0.01), torch.optim.Adam(dense, lr=3e-3)]
for step in range(400):
    user_ids = torch.randint(0, USERS, (128,))
    item_ids = bought[user_ids, torch.randint(0, 40, (128,))]
    scores = users(user_ids) @ items(item_ids).T / 0.1 - shares[item_ids].log()
    same = (item_ids[:, None] == item_ids) & ~torch.eye(128, dtype=torch.bool)
    loss = nn.functional.cross_entropy(scores.masked_fill(same, -1e4), torch.arange(128))
    for optimizer in optimizers:
        optimizer.zero_grad()
    loss.backward()
    for optimizer in optimizers:
        optimizer.step()
    if step % 80 == 0:
        print(step, loss.item())
