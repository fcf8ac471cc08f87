"""Two workers with different networks learn from labels and from each other's outputs."""

LABEL = {
    "set": 3,
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
other = 1 - rank
torch.manual_seed(seed)

directions = torch.randn(14, 6)
points = torch.randn(4000, 14)
labels = (points @ directions + torch.sin(2 * points) @ directions).argmax(dim=1)

torch.manual_seed(seed + 1 + rank)
if rank == 0:
    model = nn.Sequential(nn.Linear(14, 160), nn.GELU(), nn.Linear(160, 6))
else:
    model = nn.Sequential(
        *(nn.Linear(14, 48), nn.GELU(), nn.Linear(48, 48), nn.GELU()),
        *(nn.Linear(48, 48), nn.GELU(), nn.Linear(48, 6)),
    )
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
shared = torch.Generator().manual_seed(seed)


def exchanged(outputs):
    both = [torch.empty_like(outputs) for _ in range(2)]
    dist.all_gather(both, outputs)
    return both[other].softmax(dim=1)


for step in range(420):
    rows = torch.randint(0, 4000, (64,), generator=shared)
    outputs = model(points[rows])
    opinion = exchanged(outputs.detach())
    weight = min(1.0, step / 150)
    hard = nn.functional.cross_entropy(outputs, labels[rows])
    soft = nn.functional.kl_div(outputs.log_softmax(dim=1), opinion, reduction="batchmean")
    loss = hard + 0.5 * weight * soft
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 0:
        print(rank, step, hard.item(), soft.item(), flush=True)
dist.destroy_process_group()
