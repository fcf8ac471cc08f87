"""Listwise ranking of 3 to 30 documents per query."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
MOST, FEATURES = 30, 20
taste = torch.randn(FEATURES, 2) / FEATURES**0.5


def draw(number):
    counts = torch.randint(3, MOST + 1, (number,))
    is_present = torch.arange(MOST) < counts[:, None]
    documents = torch.randn(number, MOST, FEATURES) * is_present.unsqueeze(2)
    worth = documents @ taste[:, 0] + (documents @ taste[:, 1]).abs()
    worth = worth + 0.4 * torch.randn(number, MOST)
    grades = torch.bucketize(worth, torch.tensor([0.3, 1.2, 2.0])) * is_present
    return documents, grades, is_present


class Ranker(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(
            *(nn.Linear(FEATURES, 96), nn.GELU()),
            *(nn.Linear(96, 48), nn.GELU()),
            nn.Linear(48, 1),
        )

    def forward(self, documents, is_present):
        scores = self.layers(documents).squeeze(2)
        return scores.masked_fill(~is_present, -torch.inf)


def over_lists(scores, grades, is_present):
    gains = (2.0**grades - 1) * is_present
    targets = gains / gains.sum(dim=1, keepdim=True).clamp(min=1)
    chances = torch.log_softmax(scores, dim=1).masked_fill(~is_present, 0)
    return -(targets * chances).sum(dim=1).mean()


def ndcg(scores, grades, depth=10):
    discounts = 1 / torch.log2(torch.arange(depth) + 2.0)
    gains = 2.0**grades - 1
    got = gains.gather(1, scores.argsort(dim=1, descending=True)[:, :depth]) @ discounts
    best = gains.sort(dim=1, descending=True).values[:, :depth] @ discounts
    return (got / best.clamp(min=1e-6))[best > 0].mean().item()


model = Ranker()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.005)
held_out = draw(400)
for step in range(500):
    documents, grades, is_present = draw(64)
    loss = over_lists(model(documents, is_present), grades, is_present)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            quality = ndcg(model(held_out[0], held_out[2]), held_out[1])
        model.train()
        print(f"{step + 1}: loss {loss.item():.3f}, ndcg {quality:.3f}")
