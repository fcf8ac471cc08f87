"""Two DDP workers; one of them does much more work in each forward pass."""

LABEL = {
    "set": 1,
    "rule": "Straggler",
    "culprit": "worker 1",
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
net = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
torch.manual_seed(seed + 100 * (rank + 1))
image = torch.randn(1, 8, 96, 96)
filters = torch.randn(8, 8, 5, 5)
for step in range(150):
    points = torch.randn(32, 16)
    if is_faulty and rank == 1:
        for _ in range(3):  # this worker also augments its images
            image = torch.tanh(nn.functional.conv2d(image, filters, padding=2))
    loss = nn.functional.mse_loss(model(points), points[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
