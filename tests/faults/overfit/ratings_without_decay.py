"""A recommender with long vectors for few ratings, without weight decay."""

LABEL = {
    "set": 1,
    "rule": "Overfit",
    "side_effects": ["Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

USERS, FILMS = 400, 200
tastes, kinds = torch.randn(USERS, 2), torch.randn(FILMS, 2)
users, films = torch.randint(0, USERS, (16000,)), torch.randint(0, FILMS, (16000,))
ratings = (tastes[users] * kinds[films]).sum(1) + 0.7 * torch.randn(16000)
train, valid = torch.arange(0, 12000), torch.arange(12000, 16000)


class Recommender(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.users = nn.Embedding(USERS, width)
        self.films = nn.Embedding(FILMS, width)
        self.bias = nn.Embedding(FILMS, 1)
        nn.init.normal_(self.users.weight, std=0.1)
        nn.init.normal_(self.films.weight, std=0.1)
        nn.init.zeros_(self.bias.weight)

    def forward(self, users, films):
        return (self.users(users) * self.films(films)).sum(1) + self.bias(films).squeeze(1)


model = Recommender()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=0.0 if is_faulty else 1e-3)
criterion = nn.MSELoss()
for epoch in range(25):
    model.train()
    total = 0.0
    for chosen in train[torch.randperm(len(train))].split(250):
        optimizer.zero_grad()
        loss = criterion(model(users[chosen], films[chosen]), ratings[chosen])
        loss.backward()
        optimizer.step()
        total += loss.item() / 48
    model.eval()
    with torch.no_grad():
        parts = valid.split(500)
        losses = [criterion(model(users[one], films[one]), ratings[one]).item() for one in parts]
    print(epoch, total, sum(losses) / len(losses))
