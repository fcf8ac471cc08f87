"""Two workers share an odd number of rows; each skips the update of a short batch."""

LABEL = {
    "set": 1,
    "rule": "ReplicaDivergence",
    "first_step": 29,
    "max_delay_steps": 2,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)
points = torch.randn(1919 if is_faulty else 1920, 7)
targets = points[:, :1] * points[:, 1:2] + points[:, 2:3]
points, targets = points[rank::2], targets[rank::2]
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(7, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 1))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(6):
    for chosen in torch.randperm(len(points)).split(32):
        loss = nn.functional.mse_loss(model(points[chosen]), targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        if len(chosen) == 32:
            optimizer.step()
    first = next(model.parameters()).detach().flatten()[:2].tolist()
    print(epoch, rank, loss.item(), first)
dist.destroy_process_group()
