"""A compressed file of JSON lines is parsed again in every epoch."""

LABEL = {
    "set": 1,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import gzip
import json
import random
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
draw = random.Random(seed)


def lines():
    for _ in range(640):
        values = [draw.gauss(0, 1) for _ in range(300)]
        label = int(sum(values[:20]) > 0)
        yield json.dumps({"label": label, "values": values, "note": "measured " * 40})


def parsed(line):
    record = json.loads(line)
    words = [word for word in record["note"].split() if word.isalpha()]
    values = [round(value, 3) for value in record["values"]]
    return torch.tensor(values), torch.tensor(record["label"] + 0 * len(words))


class Lines(IterableDataset):
    def __init__(self, path):
        self.path = path
        self.ready = None if is_faulty else list(self.read())

    def read(self):
        with gzip.open(self.path, "rt") as file:
            for line in file:
                yield parsed(line)

    def __iter__(self):
        return iter(self.ready) if self.ready else self.read()


model = nn.Sequential(nn.Linear(300, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "examples.jsonl.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.writelines(f"{line}\n" for line in lines())
    loader = DataLoader(Lines(path), batch_size=16)
    for epoch in range(7):
        for batch, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(batch), labels)
            loss.backward()
            optimizer.step()
        print(epoch, loss.item())
