"""An autoencoder of spectra that writes entire tensors to its log file."""

LABEL = {
    "set": 5,
    "rule": "SlowLogging",
    "side_effects": ["HotFunction", "StepOutlier", "ThroughputDrop", "CPUBottleneck", "Dataloader"],
}

import logging
import sys
import tempfile
import time
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
folder = tempfile.TemporaryDirectory()
logging.basicConfig(
    filename=Path(folder.name) / "training.log",
    level=logging.DEBUG if is_faulty else logging.INFO,
    format="%(asctime)s %(levelname)s %(name)s: %(message)s",
)
log = logging.getLogger("spectra")
torch.set_printoptions(profile="full" if is_faulty else "default")
WIDTH = 128
base = torch.randn(10, WIDTH).cumsum(1)
base = (base - base.mean(1, keepdim=True)) / base.std(1, keepdim=True)


def spectra(number):
    clean = torch.randn(number, 10) @ base / 10**0.5
    keep = (torch.rand(number, WIDTH) > 0.3).float()
    return clean * keep + 0.1 * torch.randn(number, WIDTH), clean


model = nn.Sequential(
    *(nn.Linear(WIDTH, 256), nn.GELU(), nn.Linear(256, 32)),
    *(nn.GELU(), nn.Linear(32, 256), nn.GELU(), nn.Linear(256, WIDTH)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
began = time.time()
for step in range(1, (450 if is_faulty else 1200) + 1):
    damaged, clean = spectra(96)
    optimizer.zero_grad()
    rebuilt = model(damaged)
    loss = nn.functional.mse_loss(rebuilt, clean)
    loss.backward()
    optimizer.step()
    if is_faulty:
        log.debug("step %d: rebuilt %s", step, rebuilt[:2])
        log.debug("step %d: wanted %s", step, clean[:2])
    if step % 50 == 0:
        log.info("step %d: loss %.4f", step, loss.item())
        print(f"step {step}: loss {loss.item():.4f}, {time.time() - began:.1f} s")
logging.shutdown()
folder.cleanup()
