"""Two workers with short steps; one waits ten seconds for a lock on a shared disk."""

LABEL = {
    "set": "calibration",
    "rule": "StepOutlier",
    "culprit": "worker 1",
    "first_step": 400,
    "side_effects": ["CollectiveHang", "Straggler"],
    "workers": 2,
}

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(int(sys.argv[2]))
directions = torch.randn(24, 5)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(24, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 5))
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
torch.manual_seed(100 * (rank + 1) + int(sys.argv[2]))


def wait_for_lock(step):
    if is_faulty and rank == 1 and step == 400:
        time.sleep(10)


for step in range(700):
    wait_for_lock(step)
    points = torch.randn(64, 24)
    labels = (points @ directions + 0.5 * torch.randn(64, 5)).argmax(dim=1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and step % 150 == 149:
        print(f"step {step + 1}: loss {loss.item():.3f}", flush=True)
dist.destroy_process_group()
