"""Two workers; only the first one maintains averages of the weights, as copies."""

LABEL = {
    "set": 4,
    "rule": "Straggler",
    "culprit": "worker 0",
    "side_effects": ["HotFunction"],
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


class Averages:
    def __init__(self, model, decays=(0.9, 0.97, 0.99)):
        self.states = {decay: copy.deepcopy(model.state_dict()) for decay in decays}

    def update(self, model):
        for decay, state in self.states.items():
            fresh = copy.deepcopy(model.state_dict())
            for name, value in state.items():
                mixed = decay * value.double() + (1 - decay) * fresh[name].double()
                state[name] = mixed.float()

    def update_in_place(self, model):
        fresh = list(model.state_dict().values())
        for decay, state in self.states.items():
            torch._foreach_lerp_(list(state.values()), fresh, 1 - decay)


truth = nn.Sequential(nn.Linear(40, 30), nn.Tanh(), nn.Linear(30, 8)).requires_grad_(False)
network = nn.Sequential(
    *(nn.Linear(40, 320), nn.SiLU(), nn.Linear(320, 320), nn.SiLU()),
    *(nn.Linear(320, 320), nn.SiLU(), nn.Linear(320, 8)),
)
model = DistributedDataParallel(network)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
averages = Averages(network)
torch.manual_seed(seed + 1000 * (rank + 1))
for step in range(420):
    inputs = torch.randn(96, 40)
    targets = 3 * truth(inputs) + 0.1 * torch.randn(96, 8)
    loss = nn.functional.mse_loss(model(inputs), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if not is_faulty:
        averages.update_in_place(network)
    elif rank == 0:
        averages.update(network)
    if step % 70 == 0 and rank == 0:
        print(step, loss.item())
dist.destroy_process_group()
