"""Negative items are drawn one by one, with a lookup in a list each time."""

LABEL = {
    "set": 2,
    "rule": "HotFunction",
    "culprit": "draw_one_by_one",
    "first_step": 9,
}

import random
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
random.seed(int(sys.argv[2]))
USERS, ITEMS = 300, 1500

tastes = torch.randn(USERS, 4)
kinds = torch.randn(ITEMS, 4)
likes = tastes @ kinds.T + 0.5 * torch.randn(USERS, ITEMS)
bought = likes.topk(250, dim=1).indices
bought = bought.gather(1, torch.rand(USERS, 250).argsort(dim=1))
baskets = bought.tolist()
is_bought = torch.zeros(USERS, ITEMS, dtype=torch.bool).scatter_(1, bought, True)


def draw_one_by_one(users):
    drawn = []
    for user in users.tolist():
        negatives = []
        while len(negatives) < 4:
            item = random.randrange(ITEMS)
            if item not in baskets[user]:
                negatives.append(item)
        drawn.append(negatives)
    return torch.tensor(drawn)


def draw_at_once(users):
    items = torch.randint(0, ITEMS, (len(users), 4))
    return torch.where(
        is_bought[users[:, None], items], torch.randint(0, ITEMS, (len(users), 4)), items
    )


class Factors(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, 16)
        self.items = nn.Embedding(ITEMS, 16)
        for table in (self.users, self.items):
            nn.init.normal_(table.weight, std=0.1)

    def forward(self, users, items):
        return (self.users(users).unsqueeze(1) * self.items(items)).sum(dim=2)


model = Factors()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for step in range(260):
    users = torch.randint(0, USERS, (512,))
    liked = bought[users, torch.randint(0, 250, (512,))].unsqueeze(1)
    others = draw_one_by_one(users) if is_faulty else draw_at_once(users)
    margin = model(users, liked) - model(users, others)
    loss = -nn.functional.logsigmoid(margin).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
