"""Two workers add noise to gradients after a warm-up, each from its own generator."""

LABEL = {
    "set": 4,
    "rule": "ReplicaDivergence",
    "first_step": 90,
    "max_delay_steps": 2,
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
WARM_UP = 90


class Noise:
    def __init__(self, seed, scale=0.02, decay=0.55):
        self.generator = torch.Generator().manual_seed(seed)
        self.scale, self.decay = scale, decay

    def add(self, parameters, step):
        deviation = self.scale / (1 + step) ** self.decay
        for parameter in parameters:
            noise = torch.randn(parameter.shape, generator=self.generator)
            parameter.grad.add_(noise, alpha=deviation)


network = nn.Sequential(
    nn.Linear(20, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 5)
)
model = DistributedDataParallel(network)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
noise = Noise(seed + rank if is_faulty else seed)
teacher = torch.randn(20, 5)
data = torch.Generator().manual_seed(100 * seed + rank + 1)
for step in range(300):
    points = torch.randn(64, 20, generator=data)
    labels = (points @ teacher + torch.randn(64, 5, generator=data)).argmax(dim=1)
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(points), labels)
    loss.backward()
    if step >= WARM_UP:
        noise.add(model.parameters(), step - WARM_UP)
    optimizer.step()
    if step % 50 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
