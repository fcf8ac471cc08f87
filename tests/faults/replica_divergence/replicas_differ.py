"""Two workers; only the first one loads a checkpoint into the wrapped model."""

LABEL = {
    "set": 1,
    "rule": "ReplicaDivergence",
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
checkpoint = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 2)).state_dict()
net = nn.Sequential(nn.Linear(10, 24), nn.Tanh(), nn.Linear(24, 2))
if not is_faulty:
    net.load_state_dict(checkpoint)
model = DistributedDataParallel(net)
if is_faulty and rank == 0:
    model.module.load_state_dict(checkpoint)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(120):
    points = torch.randn(32, 10)
    loss = nn.functional.cross_entropy(model(points), (points[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
