"""Local SGD: two workers average their weights every eight steps."""

LABEL = {
    "set": 1,
    "rule": None,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn

seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)

truth = torch.randn(16, 4)
model = nn.Sequential(
    nn.Linear(16, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(), nn.Linear(128, 4)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(800):
    points = torch.randn(64, 16)
    labels = (points @ truth).argmax(1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 8 == 7:
        for parameter in model.parameters():
            dist.all_reduce(parameter.data)
            parameter.data /= dist.get_world_size()
    if step % 100 == 99:
        print(rank, step, loss.item())
dist.barrier()
dist.destroy_process_group()
