"""A recommender that divides products by a temperature of 0.05 instead of multiplying."""

LABEL = {
    "set": 1,
    "rule": "SaturatedActivation",
    "culprit": "likes",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

tastes, kinds = torch.randn(80, 3), torch.randn(60, 3)
likes = (tastes @ kinds.T > 0).float()


class Match(nn.Module):
    def __init__(self):
        super().__init__()
        self.people, self.things = nn.Embedding(80, 32), nn.Embedding(60, 32)
        self.likes = nn.Sigmoid()

    def forward(self, person, product_id):
        product = (self.people(person) * self.things(product_id)).sum(1)
        return self.likes(product / 0.05 if is_faulty else product * 0.05)


model = Match()
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
criterion = nn.BCELoss()
for step in range(500):
    person, product_id = torch.randint(0, 80, (128,)), torch.randint(0, 60, (128,))
    loss = criterion(model(person, product_id), likes[person, product_id])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
