"""Two workers with different numbers of batches; the first to finish waits (Join)."""

LABEL = {
    "set": 2,
    "rule": None,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.algorithms.join import Join
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
torch.manual_seed(int(sys.argv[2]))
w = torch.randn(20, 6)
x = torch.randn(9600, 20)
y = (x @ w + 0.5 * torch.randn(9600, 6)).argmax(1)
vx = torch.randn(800, 20)
vy = (vx @ w).argmax(1)
mine = slice(0, 4608) if rank == 0 else slice(4608, 9600)  # files of different length
loader = DataLoader(TensorDataset(x[mine], y[mine]), 48, shuffle=True)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 6))
)
opt = torch.optim.SGD(model.parameters(), lr=0.05)
for epoch in range(3):
    model.train()
    tot = torch.zeros(2)
    with Join([model]):
        for xb, yb in loader:
            loss = nn.functional.cross_entropy(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += torch.tensor([loss.item() * len(xb), len(xb)])
    dist.all_reduce(tot)
    model.eval()
    sums = [torch.zeros(1, dtype=torch.float64) for _ in range(world)]
    dist.all_gather(sums, sum(p.detach().double().abs().sum() for p in model.parameters()).view(1))
    if rank == 0:
        print("weights equal on both:", sums[0].item() == sums[1].item(), sums[0].item())
    with torch.no_grad():
        part = slice(rank * 400, rank * 400 + 400)
        hit = (model.module(vx[part]).argmax(1) == vy[part]).sum().float()
        dist.all_reduce(hit)
    if rank == 0:
        print(epoch, (tot[0] / tot[1]).item(), hit.item() / 800)
dist.destroy_process_group()
