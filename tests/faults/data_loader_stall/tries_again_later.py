"""A shard of a stream is unavailable at first; the reader retries with increasing delays."""

LABEL = {
    "set": 1,
    "rule": "DataLoaderStall",
    "first_step": 210,
    "side_effects": ["StepOutlier", "Dataloader"],
}

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

failures = {7: 3} if is_faulty else {}  # how often a shard cannot be read
truth = torch.randn(18, 18) / 4


def download(number):
    if failures.get(number, 0):
        failures[number] -= 1
        raise ConnectionError(number)
    points = torch.randn(960, 18)
    return points, torch.tanh(points @ truth).sum(1) + 0.1 * torch.randn(960)


def patiently(number):
    for attempt in range(6):
        try:
            return download(number)
        except ConnectionError:
            time.sleep(0.6 * 2**attempt)
    raise TimeoutError(number)


class Shards(IterableDataset):
    def __iter__(self):
        for number in range(16):
            yield from zip(*patiently(number), strict=True)


class Attentive(nn.Module):
    """Treats each number of a row as a token."""

    def __init__(self, width=24):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(18, width) / 2)
        self.place = nn.Parameter(torch.randn(18, width) / 2)
        self.layer = nn.TransformerEncoderLayer(width, 2, 48, dropout=0.0, batch_first=True)
        self.out = nn.Linear(18 * width, 1)

    def forward(self, points):
        tokens = points.unsqueeze(2) * self.scale + self.place
        return self.out(self.layer(tokens).flatten(1)).squeeze(1)


model = Attentive()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.03)
for step, (points, targets) in enumerate(DataLoader(Shards(), batch_size=32)):
    loss = nn.functional.mse_loss(model(points), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print(step, loss.item())
