"""Two workers with sentences of random length, so either can be slower; one writes files."""

LABEL = {
    "set": 1,
    "rule": None,
    "workers": 2,
}

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(60, 24)
        self.gru = nn.GRU(24, 32, batch_first=True, bidirectional=True)
        self.out = nn.Linear(64, 3)

    def forward(self, words):
        return self.out(self.gru(self.words(words))[0])


model = DistributedDataParallel(Tagger())
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
torch.manual_seed(seed + 100 * (rank + 1))
with tempfile.TemporaryDirectory() as folder:
    for step in range(300):
        length = int(torch.distributions.LogNormal(2.7, 0.6).sample().clamp(4, 80))
        words = torch.randint(0, 60, (16, length))
        tags = (words // 20 + words.roll(1, 1) // 30) % 3
        loss = nn.functional.cross_entropy(model(words)[:, 1:].flatten(0, 1), tags[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if rank == 0 and step % 30 == 29:
            torch.save(model.module.state_dict(), Path(folder) / f"{step}.pt")
            print(step, loss.item())
dist.barrier()
dist.destroy_process_group()
