"""Two processes with DistributedDataParallel; started by torchrun."""

import gc

import torch
import torch.distributed as dist
from reporting import digest, print_final_state, print_value, seed_all
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

seed_all()
dist.init_process_group("gloo")
rank = dist.get_rank()
points = torch.randn(96, 8)
data = TensorDataset(points, (points[:, :4].sum(1) > 0).long())
sampler = DistributedSampler(data, shuffle=True, seed=1)
loader = DataLoader(data, batch_size=8, sampler=sampler)
model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.CrossEntropyLoss()

for epoch in range(2):
    sampler.set_epoch(epoch)
    for number, (batch, labels) in enumerate(loader):
        is_last = number % 2 == 1
        with model.no_sync() if not is_last else torch.enable_grad():
            loss = criterion(model(batch), labels)
            loss.backward()
        if is_last:
            optimizer.step()
            optimizer.zero_grad()
        losses = [None, None]
        dist.all_gather_object(losses, loss.item())
        if rank == 0:
            for rank_loss in losses:
                print_value("loss", rank_loss)

digests = [None, None]
dist.all_gather_object(digests, digest(model.module.state_dict()))
if rank == 0:
    print(*digests)
    print_final_state(model.module, optimizer)
# references to the group keep its threads alive at interpreter exit, where they may abort
del model, optimizer, loss
gc.collect()
dist.destroy_process_group()
