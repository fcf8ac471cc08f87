"""Two workers with a shard of the data each; the second shard is compressed."""

LABEL = {
    "set": 3,
    "rule": "Straggler",
    "culprit": "worker 1",
    "side_effects": ["DataLoaderStarvation", "HotFunction"],
    "workers": 2,
}

import lzma
import sys

import numpy as np
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()


class Shard(Dataset):
    def __init__(self, samples, is_packed):
        signals = np.random.default_rng(seed).normal(size=(4, 2000))
        chance = np.random.default_rng(1000 * seed + rank)
        self.labels = chance.integers(0, 4, samples)
        self.stored = []
        for label in self.labels:
            noisy = signals[label] + 3 * chance.normal(size=2000)
            data = np.round(noisy / 3, 2).astype(np.float32).tobytes()
            self.stored.append(lzma.compress(data) if is_packed else data)
        self.is_packed = is_packed

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        data = self.stored[index]
        if self.is_packed:
            data = lzma.decompress(data)
        return torch.from_numpy(np.frombuffer(data, np.float32).copy()), self.labels[index]


shard = Shard(1500, is_packed=is_faulty and rank == 1)
torch.manual_seed(seed)
network = nn.Sequential(
    *(nn.Linear(2000, 256), nn.BatchNorm1d(256), nn.ReLU(), nn.Dropout(0.3)),
    nn.Linear(256, 4),
)
model = DistributedDataParallel(network)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.05)
torch.manual_seed(seed + 100 * (rank + 1))
loader = DataLoader(shard, 50, shuffle=True)
for epoch in range(12):
    total = 0.0
    for x, y in loader:
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    if rank == 0:
        print(f"epoch {epoch}: loss {total / len(loader):.4f}")
dist.destroy_process_group()
