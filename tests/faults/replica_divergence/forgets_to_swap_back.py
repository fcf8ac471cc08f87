"""Two workers; the first one evaluates averaged weights and does not restore its own."""

LABEL = {
    "set": 1,
    "rule": "ReplicaDivergence",
    "first_step": 120,
    "max_delay_steps": 2,
    "workers": 2,
}

import copy
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


def pictures(count):
    labels = torch.randint(0, 2, (count,))
    images = torch.randn(count, 1, 16, 16)
    stripes = 0.5 * torch.sin(torch.arange(16.0)).expand(16, 16)
    images[:, 0] += torch.where(labels.view(-1, 1, 1) == 0, stripes, stripes.T)
    return images, labels


model = DistributedDataParallel(
    nn.Sequential(
        *(nn.Conv2d(1, 12, 5, padding=2), nn.ELU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(12, 16, 3, padding=1), nn.ELU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(256, 2)),
    )
)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
averages = copy.deepcopy(model.module.state_dict())
valid = [pictures(100) for _ in range(4)]
torch.manual_seed(seed + 100 * (rank + 1))
for step in range(300):
    if rank == 0 and step in {120, 240}:
        saved = copy.deepcopy(model.module.state_dict())
        model.module.load_state_dict(averages)
        model.eval()
        with torch.no_grad():
            hits = [(model.module(images).argmax(1) == labels).float() for images, labels in valid]
        model.train()
        print(step, "averaged", torch.cat(hits).mean().item())
        if not is_faulty:
            model.module.load_state_dict(saved)
    images, labels = pictures(32)
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    for name, value in model.module.state_dict().items():
        averages[name].lerp_(value, 0.02)
    if step % 60 == 59:
        print(rank, step, loss.item())
dist.barrier()
dist.destroy_process_group()
