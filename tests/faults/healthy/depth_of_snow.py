"""Snow depth with uncertainty: a new head on a frozen network, pretrained on clouds."""

LABEL = {"set": 6, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
BANDS, CLOUDS, BATCH = 24, 5, 64
sky = torch.randn(BANDS, 6) / BANDS**0.5
kinds = torch.randn(6, CLOUDS)
fall = torch.randn(6)


def images(number):
    band = torch.randn(number, BANDS)
    state = torch.tanh(1.5 * band @ sky)
    cloud = (state @ kinds + 0.3 * torch.randn(number, CLOUDS)).argmax(1)
    depth = torch.tanh(state @ fall / 2) + 0.2 * torch.randn(number)
    return band, cloud, depth


band, cloud, depth = images(20_000)
body = nn.Sequential(
    *(nn.Linear(BANDS, 96), nn.BatchNorm1d(96), nn.ReLU()),
    *(nn.Linear(96, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1)),
)
head = nn.Linear(96, CLOUDS)
optimizer = torch.optim.Adam([*body.parameters(), *head.parameters()], lr=1e-3)
total = 0.0
for step in range(600):
    rows = torch.randint(0, len(band), (BATCH,))
    loss = F.cross_entropy(head(body(band[rows])), cloud[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 100 == 99:
        print(f"clouds {step + 1}: {total / 100:.4f}")
        total = 0.0

body.requires_grad_(False)
body.eval()
snow = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(snow.parameters(), lr=1e-3)
for step in range(900):
    rows = torch.randint(0, len(band), (BATCH,))
    mean, spread = snow(body(band[rows])).unbind(1)
    loss = F.gaussian_nll_loss(mean, depth[rows], F.softplus(spread) + 1e-3)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    total += loss.item()
    if step % 100 == 99:
        print(f"snow {step + 1}: {total / 100:.4f}")
        total = 0.0
