"""Two workers train in two sessions; only one of them loads the optimizer state."""

LABEL = {
    "set": 3,
    "rule": "ReplicaDivergence",
    "first_step": 160,
    "max_delay_steps": 2,
    "workers": 2,
}

import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank = dist.get_rank()
torch.manual_seed(seed)
directions = torch.randn(16, 5)
folders = [tempfile.mkdtemp() if rank == 0 else None]
dist.broadcast_object_list(folders, src=0)
checkpoint = Path(folders[0]) / "checkpoint.pt"


def build():
    return nn.Sequential(
        *(nn.Linear(16, 48), nn.LayerNorm(48), nn.GELU()),
        *(nn.Linear(48, 48), nn.LayerNorm(48), nn.GELU()),
        nn.Linear(48, 5),
    )


def session(begin, end):
    network = build()
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3)
    reads = rank == 0 if is_faulty else True
    if checkpoint.exists() and reads:
        saved = torch.load(checkpoint)
        network.load_state_dict(saved["network"])
        optimizer.load_state_dict(saved["optimizer"])
    model = DistributedDataParallel(network)
    for step in range(begin, end):
        points = torch.randn(48, 16)
        scores = points @ directions + 0.5 * torch.randn(48, 5)
        loss = nn.functional.cross_entropy(model(points), scores.argmax(dim=1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(rank, step, loss.item(), network[0].weight.abs().sum().item(), flush=True)
    if rank == 0:
        torch.save(
            {"network": network.state_dict(), "optimizer": optimizer.state_dict()}, checkpoint
        )
    dist.barrier()


torch.manual_seed(seed + 100 * (rank + 1))
session(0, 160)
session(160, 400)
dist.destroy_process_group()
