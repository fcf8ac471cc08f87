"""Two workers; one is busy with other work during training and keeps the other waiting."""

LABEL = {
    "set": 1,
    "rule": "CollectiveHang",
    "culprit": "worker 1",
    "first_step": 79,
    "side_effects": ["StepOutlier"],
    "workers": 2,
    "parameters": {"CollectiveHang": {"seconds": 8.0}},
}

import sys
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)
model = DistributedDataParallel(nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Linear(32, 1)))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(120):
    if is_faulty and step == 80 and rank == 1:
        time.sleep(25)  # it cleans up a folder that only it uses
    points = torch.randn(32, 12)
    loss = nn.functional.mse_loss(model(points), points[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
