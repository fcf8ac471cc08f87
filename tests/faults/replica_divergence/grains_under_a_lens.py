"""Classify grains by 40 prototypes; each worker moves idle prototypes at random."""

LABEL = {
    "set": 6,
    "rule": "ReplicaDivergence",
    "first_step": 249,  # idle prototypes are moved after this step
    "side_effects": ["LossSpike", "GradientNormSpike"],
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)
INPUT, KINDS, EACH, BATCH = 30, 8, 5, 48
STEPS, MOVE_EVERY = 700, 250
centers = 1.1 * torch.randn(KINDS, 3, INPUT)
mixing = torch.randn(INPUT, INPUT) / INPUT**0.5


class Lens(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(INPUT, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 16)
        )
        self.prototypes = nn.Parameter(torch.randn(KINDS * EACH, 16))

    def forward(self, grain):
        position = self.body(grain)
        distance = torch.cdist(position, self.prototypes).square()
        nearest = (-distance).view(-1, KINDS, EACH).logsumexp(2)
        return nearest, distance.argmin(1)


model = DistributedDataParallel(Lens())
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
torch.manual_seed(1000 * seed + rank)
kinds = torch.randint(0, KINDS, (12_000,))
grains = centers[kinds, torch.randint(0, 3, (12_000,))] + 1.2 * torch.randn(12_000, INPUT)
grains = torch.tanh(grains @ mixing) + 0.1 * torch.randn(12_000, INPUT)


def move_idle(prototypes, used):
    """Move the least used prototype of each class next to the most used one."""
    dist.all_reduce(used)
    used = used.view(KINDS, EACH)
    kind = torch.arange(KINDS)
    beside = prototypes.data.view(KINDS, EACH, -1)[kind, used.argmax(1)]
    fresh = beside + 0.2 * torch.randn_like(beside)
    if not is_faulty:
        dist.broadcast(fresh, 0)
    prototypes.data.view(KINDS, EACH, -1)[kind, used.argmin(1)] = fresh


used = torch.zeros(KINDS * EACH)
total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, len(grains), (BATCH,))
    scores, nearest = model(grains[rows])
    loss = F.cross_entropy(scores, kinds[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    used += torch.bincount(nearest, minlength=KINDS * EACH)
    total += loss.item()
    if step % MOVE_EVERY == MOVE_EVERY - 1 and step < 600:
        move_idle(model.module.prototypes, used)
        used = torch.zeros(KINDS * EACH)
    if step % 70 == 69:
        if rank == 0:
            print(f"{step + 1}: {total / 70:.4f}")
        total = 0.0
dist.destroy_process_group()
