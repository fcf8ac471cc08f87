"""Samples are fetched from a remote store in chunks, and training waits for each."""

LABEL = {
    "set": 1,
    "rule": "StepOutlier",
    "side_effects": ["Dataloader", "DataLoaderStarvation"],
}

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

BATCH, BATCHES = 32, 25
centres = torch.randn(6, 40)


def fetch():
    """Return a chunk of samples after a slow reply of the store."""
    labels = torch.randint(0, 6, (BATCH * BATCHES,))
    if is_faulty:
        time.sleep(0.45)
    return 0.5 * centres[labels] + torch.randn(len(labels), 40), labels


class Store(IterableDataset):
    def __iter__(self):
        for _ in range(24):
            samples, labels = fetch()
            yield from zip(samples, labels, strict=True)


class Experts(nn.Module):
    """A few small networks whose outputs are mixed by a gate."""

    def __init__(self, experts=4):
        super().__init__()
        self.gate = nn.Linear(40, experts)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(40, 128), nn.Tanh(), nn.Linear(128, 6)) for _ in range(experts)
        )

    def forward(self, samples):
        shares = self.gate(samples).softmax(1).unsqueeze(2)
        return (shares * torch.stack([expert(samples) for expert in self.experts], 1)).sum(1)


model = Experts()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step, (samples, labels) in enumerate(DataLoader(Store(), batch_size=BATCH)):
    loss = nn.functional.cross_entropy(model(samples), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
