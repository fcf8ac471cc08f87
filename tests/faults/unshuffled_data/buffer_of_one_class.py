"""Shards of one class each; the shuffle buffer is smaller than a shard."""

LABEL = {
    "set": 1,
    "rule": "UnshuffledData",
    "side_effects": ["LossSpike", "GradientNormSpike", "LossNotDecreasing", "LossDiverging"],
}

import random
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)

KINDS, OF_EACH = 5, 320
centres = torch.randn(KINDS, 1, 14, 8)
shards = [0.6 * centres[kind] + torch.randn(OF_EACH, 14, 8) for kind in range(KINDS)]


class Stream(IterableDataset):
    """Reads shards in order through a shuffle buffer."""

    def __init__(self, buffer_size):
        self.buffer_size, self.draw = buffer_size, random.Random(seed)

    def __iter__(self):
        buffer = []
        for kind, shard in enumerate(shards):
            for sample in shard:
                buffer.append((sample, kind))
                if len(buffer) >= self.buffer_size:
                    yield buffer.pop(self.draw.randrange(len(buffer)))
        self.draw.shuffle(buffer)
        yield from buffer


class Gestures(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, KINDS)

    def forward(self, movements):
        return self.out(self.lstm(movements)[0].mean(1))


model = Gestures()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
loader = DataLoader(Stream(16 if is_faulty else KINDS * OF_EACH), batch_size=32)
for epoch in range(10):
    losses = []
    for movements, kinds in loader:
        loss = nn.functional.cross_entropy(model(movements), kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(epoch, [round(loss, 2) for loss in losses[::5]])
