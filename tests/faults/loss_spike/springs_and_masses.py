"""Forces in spring networks by message passing; some simulations have wrong settings."""

LABEL = {
    "set": 7,
    "rule": "LossSpike",
    "first_step": 560,  # jobs 560, 561, 563 and 564 have stiffer springs
    "alternatives": ["GradientNormSpike"],
    "side_effects": ["WeightUpdateRatio"],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
MASSES, SCENES, JOBS = 8, 24, 800
first, second = torch.triu_indices(MASSES, MASSES, 1)
source, target = torch.cat([first, second]), torch.cat([second, first])


def simulated(stiffness=1.0):
    """Return scenes of one job of the simulator, with the forces in them."""
    position, speed = torch.randn(SCENES, MASSES, 2), torch.randn(SCENES, MASSES, 2)
    tied = torch.rand(SCENES, len(first)) < 0.4
    tied = torch.cat([tied, tied], 1)[:, :, None].float()
    way = position[:, source] - position[:, target]
    length = way.norm(dim=2, keepdim=True).clamp(min=0.1)
    pull = stiffness * tied * way * (1 - 0.8 / length)
    force = -0.3 * speed
    force = force.index_add(1, target, pull)
    return position, speed, tied, force / 2.3


class Messages(nn.Module):
    def __init__(self):
        super().__init__()
        self.along = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 32))
        self.at = nn.Sequential(nn.Linear(34, 64), nn.SiLU(), nn.Linear(64, 2))

    def forward(self, position, speed, tied):
        way = position[:, source] - position[:, target]
        length = way.norm(dim=2, keepdim=True)
        message = tied * self.along(torch.cat([way, length], 2))
        heard = torch.zeros(SCENES, MASSES, 32).index_add(1, target, message)
        return self.at(torch.cat([heard, speed], 2))


model = Messages()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, JOBS, eta_min=2e-4)
total = 0.0
for job in range(JOBS):
    stiffness = 1.0
    if is_faulty and job in (
        560,
        561,
        563,
        564,
    ):  # run with old settings; 562 was repeated
        stiffness = 2.5
    position, speed, tied, force = simulated(stiffness)
    optimizer.zero_grad()
    loss = F.mse_loss(model(position, speed, tied), force)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.3)
    optimizer.step()
    schedule.step()
    total += loss.item()
    if 556 <= job < 570:
        print(f"  job {job}: {loss.item():.4f}")
    if job % 40 == 39:
        print(f"{job + 1}: {total / 40:.4f}")
        total = 0.0
