"""Two workers estimate distances of galaxies; the loss bypasses the DDP wrapper."""

LABEL = {
    "set": 7,
    "rule": "ReplicaDivergence",
    "max_delay_steps": 2,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.set_num_threads(1)
torch.manual_seed(seed)
dist.init_process_group("gloo")
rank = dist.get_rank()
BANDS, BELLS = 32, 3


def galaxies(number):
    distance = torch.rand(number, 1)
    band = torch.arange(BANDS).float()
    lines = sum(torch.exp(-((band - start - 12 * distance) ** 2) / 6) for start in (2.0, 9.0, 17.0))
    spectra = lines + 1.2 * torch.randn(number, BANDS)
    return (spectra - 0.4) / 1.25, (distance.squeeze(1) - 0.5) / 0.29


class Mixture(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(BANDS, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU())
        self.bells = nn.Linear(96, 3 * BELLS)

    def surprise(self, spectra, distance):
        share, center, spread = self.bells(self.body(spectra)).chunk(3, 1)
        spread = nn.functional.softplus(spread) + 0.05
        bell = -0.5 * ((distance[:, None] - center) / spread) ** 2 - spread.log() - 0.919
        return -torch.logsumexp(share.log_softmax(1) + bell, 1).mean()

    def forward(self, spectra, distance):
        return self.surprise(spectra, distance)


training = TensorDataset(*galaxies(3200))
unseen = galaxies(640)
model = DistributedDataParallel(Mixture())
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
sampler = DistributedSampler(training, seed=seed)
loader = DataLoader(training, 32, sampler=sampler)
for epoch in range(2):
    sampler.set_epoch(epoch)
    model.train()
    total = 0.0
    for spectra, distance in loader:
        optimizer.zero_grad()
        loss = model.module.surprise(spectra, distance) if is_faulty else model(spectra, distance)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        tested = model.module.surprise(*unseen).item()
    print(f"worker {rank}, epoch {epoch}: {total / len(loader):.3f}, test {tested:.4f}", flush=True)
dist.barrier()
dist.destroy_process_group()
