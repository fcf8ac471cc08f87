"""Two workers train the module inside of the DDP wrapper: gradients are never averaged."""

LABEL = {
    "set": "calibration",
    "rule": "ReplicaDivergence",
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(int(sys.argv[2]))
directions = torch.randn(24, 5)
network = nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
network.append(nn.Linear(64, 5))
model = DistributedDataParallel(network)
if is_faulty:
    model = model.module
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
torch.manual_seed(100 * (rank + 1) + int(sys.argv[2]))
for step in range(100):
    points = torch.randn(64, 24)
    labels = (points @ directions + 0.5 * torch.randn(64, 5)).argmax(dim=1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 19:
        print(f"worker {rank}, step {step + 1}: loss {loss.item():.3f}", flush=True)
dist.destroy_process_group()
