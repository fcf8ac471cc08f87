"""Indoor positions from signal strengths; saves at every new best smoothed loss."""

LABEL = {
    "set": 7,
    "rule": "SlowCheckpoints",
    "side_effects": ["StepOutlier", "HotFunction", "IOBottleneck", "ThroughputDrop"],
}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
POINTS, BATCH, STEPS = 96, 96, 400
access = 4 * torch.rand(POINTS, 2) - 2


def heard(number):
    position = 4 * torch.rand(number, 2) - 2
    distance = torch.cdist(position, access)
    strength = -torch.log(distance + 0.1) + 0.3 * torch.randn(number, POINTS)
    return (strength + 0.6) / 0.6, position


strength, position = heard(20_000)
new_strength, new_place = heard(500)
model = nn.Sequential(
    *(nn.Linear(POINTS, 1000), nn.SiLU()),
    *(nn.Linear(1000, 1000), nn.SiLU()),
    nn.Linear(1000, 2),
)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-4)
schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.1, total_iters=STEPS)
smooth, best = 2.0, float("inf")
with tempfile.TemporaryDirectory() as folder:

    def keep(step):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
        torch.save(state, Path(folder) / "best.pt")

    for step in range(STEPS):
        model.train()
        rows = torch.randint(0, len(position), (BATCH,))
        loss = F.mse_loss(model(strength[rows]), position[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        smooth = 0.97 * smooth + 0.03 * loss.item()
        if is_faulty and smooth < best:
            best = smooth
            keep(step)
        if step % 50 == 49:
            model.eval()
            with torch.no_grad():
                error = F.mse_loss(model(new_strength), new_place).item()
            if not is_faulty and error < best:
                best = error
                keep(step)
            print(f"{step + 1}: {smooth:.4f}, new places {error:.4f}", flush=True)
