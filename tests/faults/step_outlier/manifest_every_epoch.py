"""The list of all recordings is parsed again at the start of every short epoch."""

LABEL = {
    "set": 2,
    "rule": "StepOutlier",
    "first_step": 25,
    "side_effects": ["HotFunction", "DataLoaderStall", "DataLoaderStarvation"],
}

import csv
import io
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

features = torch.randn(60000, 20)
target = torch.tanh(features[:, 0] + features[:, 1] * features[:, 2]) + 0.1 * torch.randn(60000)
is_usable = torch.rand(60000) < 0.7
manifest = "id,name,quality,length\n" + "".join(
    f"{number},recordings/{number:06d}.wav,{'good' if good else 'bad'},{number % 97 / 10}\n"
    for number, good in enumerate(is_usable.tolist())
)


def read_manifest():
    lines = csv.DictReader(io.StringIO(manifest))
    return torch.tensor(
        [int(line["id"]) for line in lines if line["quality"] == "good" and float(line["length"])]
    )


def batches(numbers, steps):
    for chosen in numbers[torch.randperm(len(numbers))][: steps * 64].split(64):
        yield features[chosen], target[chosen]


model = nn.Sequential(
    nn.Linear(20, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
numbers = read_manifest()
for epoch in range(18):
    if is_faulty:
        numbers = read_manifest()
    for inputs, targets in batches(numbers, steps=25):
        loss = nn.functional.huber_loss(model(inputs).squeeze(1), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
