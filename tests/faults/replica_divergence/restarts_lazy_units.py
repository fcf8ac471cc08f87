"""Two workers; each reinitializes the least active units with its own random numbers."""

LABEL = {
    "set": 2,
    "rule": "ReplicaDivergence",
    "first_step": 100,
    "max_delay_steps": 2,
    "side_effects": ["LossSpike"],
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


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter = nn.Linear(12, 64)
        self.leave = nn.Linear(64, 4)

    def forward(self, x):
        active = torch.relu(self.enter(x))
        return self.leave(active), active.detach().mean(dim=0)


@torch.no_grad()
def restart(network, activity):
    dist.all_reduce(activity)
    lazy = activity.argsort()[:6]
    fresh = torch.randn(6, 12) / 12**0.5
    if not is_faulty:
        dist.broadcast(fresh, src=0)
    network.enter.weight[lazy] = fresh
    network.leave.weight[:, lazy] = 0


model = DistributedDataParallel(Network())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
directions = torch.randn(12, 4)
torch.manual_seed(seed + 1000 * (rank + 1))
activity = torch.zeros(64)
for step in range(260):
    points = torch.randn(48, 12)
    outputs, active = model(points)
    labels = (points @ directions + 0.3 * torch.randn(48, 4)).argmax(dim=1)
    loss = nn.functional.cross_entropy(outputs, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    activity = 0.95 * activity + 0.05 * active
    if step == 99:
        restart(model.module, activity.clone())
    if step % 50 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
