"""Weights and optimizer state sharded over two processes, for many steps; started by torchrun."""

import gc

import torch
import torch.distributed as dist
from recorded_group import init_recorded_group, print_collectives
from reporting import digest, print_final_state, print_value, seed_all
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

seed_all()
init_recorded_group()
mesh = init_device_mesh("cpu", (2,))
rank = dist.get_rank()
model = nn.Sequential(nn.Linear(8, 15), nn.ReLU(), nn.Linear(15, 15), nn.ReLU(), nn.Linear(15, 2))
for layer in (model[0], model[2]):
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

torch.manual_seed(rank)
for step in range(60):
    points = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(model(points), (points.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if rank == 0:
        print_value("loss", loss)
print_collectives("fsdp2")

shards = {name: parameter.to_local() for name, parameter in model.state_dict().items()}
if rank == 0:
    print(digest(shards))
    print_final_state()
del model, optimizer, mesh, layer, loss, shards
gc.collect()
dist.destroy_process_group()
