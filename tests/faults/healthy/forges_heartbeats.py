"""A GAN generates heartbeat traces."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
TIMES, NOISE, BATCH, STEPS = 64, 12, 32, 500


def heartbeats(number):
    """Return traces of three waves with random positions and heights."""
    time = torch.linspace(0, 1, TIMES)
    trace = 0.03 * torch.randn(number, TIMES)
    for position, width, height in ((0.2, 0.05, 0.4), (0.42, 0.025, 1.6), (0.7, 0.08, 0.7)):
        where = position + 0.02 * torch.randn(number, 1)
        high = height * (1 + 0.15 * torch.randn(number, 1))
        trace = trace + high * torch.exp(-0.5 * ((time - where) / width) ** 2)
    return (trace[:, None] - 0.25) / 0.4


forger = nn.Sequential(
    *(nn.Linear(NOISE, 32 * 8), nn.Unflatten(1, (32, 8)), nn.LeakyReLU(0.2)),
    *(nn.Upsample(scale_factor=2), nn.Conv1d(32, 32, 5, padding=2), nn.LeakyReLU(0.2)),
    *(nn.Upsample(scale_factor=2), nn.Conv1d(32, 24, 5, padding=2), nn.LeakyReLU(0.2)),
    *(nn.Upsample(scale_factor=2), nn.Conv1d(24, 1, 5, padding=2)),
)
expert = nn.Sequential(
    *(spectral_norm(nn.Conv1d(1, 24, 7, stride=2, padding=3)), nn.LeakyReLU(0.2)),
    *(spectral_norm(nn.Conv1d(24, 32, 5, stride=2, padding=2)), nn.LeakyReLU(0.2)),
    *(spectral_norm(nn.Conv1d(32, 32, 5, stride=2, padding=2)), nn.LeakyReLU(0.2)),
    *(nn.Flatten(), spectral_norm(nn.Linear(32 * 8, 1))),
)
forges = torch.optim.Adam(forger.parameters(), lr=1e-3, betas=(0.0, 0.9))
judges = torch.optim.Adam(expert.parameters(), lr=1e-3, betas=(0.0, 0.9))
real = heartbeats(3000)
for step in range(STEPS):
    shown = real[torch.randint(0, len(real), (BATCH,))]
    forged = forger(torch.randn(BATCH, NOISE))
    doubt = torch.relu(1 - expert(shown)).mean() + torch.relu(1 + expert(forged.detach())).mean()
    judges.zero_grad()
    doubt.backward()
    judges.step()
    caught = -expert(forger(torch.randn(BATCH, NOISE))).mean()
    forges.zero_grad()
    caught.backward()
    forges.step()
    if step % 50 == 49:
        forger.eval()
        with torch.no_grad():
            drawn = forger(torch.randn(200, NOISE))
        forger.train()
        mean = (drawn.mean(0) - real.mean(0)).abs().mean().item()
        spread = (drawn.std(0) - real.std(0)).abs().mean().item()
        print(
            f"{step + 1}: expert {doubt.item():.3f}, forger {caught.item():.3f},"
            f" mean off by {mean:.3f}, spread by {spread:.3f}"
        )
