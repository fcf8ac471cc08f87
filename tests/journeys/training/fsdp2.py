"""Two processes with sharded weights (FSDP2); started by torchrun."""

import gc

import torch
import torch.distributed as dist
from reporting import digest, print_final_state, print_value, seed_all
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

seed_all()
mesh = init_device_mesh("cpu", (2,))
rank = dist.get_rank()
model = nn.Sequential(nn.Linear(8, 15), nn.ReLU(), nn.Linear(15, 15), nn.ReLU(), nn.Linear(15, 2))
for layer in (model[0], model[2]):
    fully_shard(layer, mesh=mesh)
fully_shard(model, mesh=mesh)
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)

torch.manual_seed(rank)
for step in range(10):
    points = torch.randn(16, 8)
    loss = nn.functional.cross_entropy(model(points), (points.sum(1) > 0).long())
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    whole_norm = norm.full_tensor().item()
    losses = [None, None]
    dist.all_gather_object(losses, loss.item())
    if rank == 0:
        print_value("norm", whole_norm)
        for rank_loss in losses:
            print_value("loss", rank_loss)

shards = {name: parameter.to_local() for name, parameter in model.state_dict().items()}
digests = [None, None]
dist.all_gather_object(digests, digest(shards))
if rank == 0:
    print(*digests)
    print_final_state()
# references to the group keep its threads alive at interpreter exit, where they may abort
del model, optimizer, mesh, layer, loss, norm, shards
gc.collect()
dist.destroy_process_group()
