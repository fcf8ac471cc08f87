"""Two workers classify waves; only the first one steps the learning rate scheduler."""

LABEL = {
    "set": 5,
    "rule": "ReplicaDivergence",
    "first_step": 100,
    "side_effects": ["Straggler"],
    "workers": 2,
}

import os
import sys

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
distributed.init_process_group("gloo")
rank = int(os.environ["RANK"])


def waves(number):
    kind = torch.randint(4, (number,))
    time = torch.linspace(0, 1, 64)[None]
    phase = 6.28 * torch.rand(number, 1)
    pitch = (3 + 2 * kind[:, None]) + 0.3 * torch.randn(number, 1)
    wave = torch.sin(6.28 * pitch * time + phase) + 0.8 * torch.randn(number, 64)
    return (wave / wave.std()).unsqueeze(1), kind


train = TensorDataset(*waves(6400))
validation = DataLoader(TensorDataset(*waves(640)), 128)
sampler = DistributedSampler(train, seed=seed)
loader = DataLoader(train, 32, sampler=sampler, drop_last=True)
net = nn.Sequential(
    *(nn.Conv1d(1, 16, 7, padding=3), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(16, 32, 5, padding=2), nn.ReLU(), nn.AdaptiveAvgPool1d(4), nn.Flatten()),
    nn.Linear(128, 4),
)
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
criterion = nn.CrossEntropyLoss()
for epoch in range(8):
    sampler.set_epoch(epoch)
    model.train()
    for wave, kind in loader:
        optimizer.zero_grad()
        loss = criterion(model(wave), kind)
        loss.backward()
        optimizer.step()
    if rank == 0:
        net.eval()
        with torch.no_grad():
            held_out = sum(criterion(net(w), k).item() for w, k in validation) / len(validation)
        print(f"epoch {epoch}: train {loss.item():.3f}, validation {held_out:.3f}")
        if is_faulty:
            scheduler.step()
    if not is_faulty:
        scheduler.step()
distributed.barrier()
first = net[0].weight.detach().clone()
distributed.broadcast(first, 0)
if rank == 1:
    print("distance", (first - net[0].weight).abs().max().item())
distributed.destroy_process_group()
