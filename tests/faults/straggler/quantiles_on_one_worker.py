"""Two workers; only the first one sorts all weights at every step to log quantiles."""

LABEL = {
    "set": 1,
    "rule": "Straggler",
    "culprit": "worker 0",
    "side_effects": ["HotFunction"],
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

truth = torch.randn(32, 5)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(32, 256), nn.Mish(), nn.Linear(256, 256), nn.Mish(), nn.Linear(256, 5))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
quantiles = torch.tensor([0.05, 0.5, 0.95])
book = []
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(400):
    points = torch.randn(128, 32)
    labels = (points @ truth).argmax(1)
    loss = nn.functional.cross_entropy(model(points), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0 and (is_faulty or step % 100 == 99):
        weights = [parameter.detach().flatten() for parameter in model.parameters()]
        book.append(torch.cat(weights).quantile(quantiles).tolist())
    if rank == 0 and step % 100 == 99:
        print(step, loss.item(), book[-1])
dist.barrier()
dist.destroy_process_group()
