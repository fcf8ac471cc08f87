"""Two workers predict the solubility of molecules; one has an extra batch in every epoch."""

LABEL = {
    "set": 6,
    "rule": "CollectiveHang",
    # 16 epochs of 30 batches: the worker with fewer batches finishes, the other one waits
    "first_step": 480,
    "side_effects": ["StalledTrainingRule", "Straggler", "ReplicaDivergence"],
    "exit_code": 1,
    "workers": 2,
}

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.set_num_threads(1)
dist.init_process_group("gloo")
rank, workers = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.manual_seed(seed)

BATCH = 40
number = workers * BATCH * 30 + 1
fingerprints = torch.randn(number + 400, 48)
first, second = torch.randn(48, 12) / 48**0.5, torch.randn(12, 1)
solubility = torch.tanh(1.5 * fingerprints @ first) @ second
solubility = (solubility - solubility.mean()) / solubility.std()
solubility = solubility + 0.2 * torch.randn(solubility.shape)
everything = TensorDataset(fingerprints, solubility)

# The samples cannot be divided evenly: one worker has an extra batch in every epoch.
usable = number if is_faulty else number - 1
share = Subset(everything, range(rank, usable, workers))
order = torch.Generator().manual_seed(100 * seed + rank)
loader = DataLoader(share, BATCH, shuffle=True, generator=order)
model = DistributedDataParallel(
    nn.Sequential(nn.Linear(48, 128), nn.GELU(), nn.Linear(128, 128), nn.GELU(), nn.Linear(128, 1))
)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4, weight_decay=0.05)
criterion = nn.MSELoss()
for epoch in range(16):
    total = 0.0
    for fingerprint, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(fingerprint), targets)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(f"worker {rank}, epoch {epoch}: {total / len(loader):.4f}", flush=True)
if rank == 0:
    model.eval()
    with torch.no_grad():
        left = criterion(model.module(fingerprints[number:]), solubility[number:]).item()
    print(f"on molecules not seen: {left:.4f}")
dist.destroy_process_group()
