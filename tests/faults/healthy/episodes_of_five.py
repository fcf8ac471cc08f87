"""Few-shot learning: classify five new classes from three examples each, in episodes."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
WAYS, SHOTS, QUERIES, KINDS = 5, 3, 8, 80

strokes = torch.randn(12, 14, 14)
strokes = nn.functional.avg_pool2d(strokes.unsqueeze(1), 5, stride=1, padding=2).squeeze(1) * 4
recipes = torch.randn(KINDS, 12)


def episode(kinds):
    chosen = kinds[torch.randperm(len(kinds))[:WAYS]]
    mixed = recipes[chosen][:, None] + 0.5 * torch.randn(WAYS, SHOTS + QUERIES, 12)
    pictures = torch.einsum("cnk,khw->cnhw", mixed, strokes) / 3
    pictures = pictures + 0.5 * torch.randn_like(pictures)
    return pictures[:, :SHOTS], pictures[:, SHOTS:]


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs, track_running_stats=False),
        *(nn.ReLU(), nn.MaxPool2d(2)),
    )


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(block(1, 16), block(16, 32), nn.Flatten())
        self.leave = nn.Linear(32 * 9, 24)

    def forward(self, pictures):
        return self.leave(self.blocks(pictures.flatten(0, 1).unsqueeze(1)))


def distances(embed, support, queries):
    both = torch.cat([support, queries], dim=1)
    embedded = embed(both).unflatten(0, (WAYS, -1))
    prototypes = embedded[:, :SHOTS].mean(dim=1)
    return -torch.cdist(embedded[:, SHOTS:].flatten(0, 1), prototypes).square() / 24


embed = Embedding()
optimizer = torch.optim.Adam(embed.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 150, 0.5)
train_kinds, test_kinds = torch.arange(60), torch.arange(60, KINDS)
answers = torch.arange(WAYS).repeat_interleave(QUERIES)
for number in range(420):
    loss = nn.functional.cross_entropy(distances(embed, *episode(train_kinds)), answers)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    if number % 60 == 59:
        embed.eval()
        with torch.no_grad():
            hits = [distances(embed, *episode(test_kinds)).argmax(1) == answers for _ in range(10)]
        embed.train()
        print(number, loss.item(), torch.cat(hits).float().mean().item())
