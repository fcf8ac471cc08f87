"""Sunshine forecast from weather maps; the schedule multiplies by the base rate twice."""

LABEL = {
    "set": 6,
    "rule": "WeightUpdateRatio",
    "alternatives": ["UnchangedTensor", "ParameterNotUpdated"],
    "side_effects": ["DOES_NOT_LEARN", "LearningRateCollapse"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
CELLS, STEPS, BATCH, WARM_UP = 100, 600, 64, 30
BASE = 3e-5
pattern = torch.randn(CELLS, 4) / CELLS**0.5


def days(number):
    weather = torch.randn(number, CELLS)
    sunshine = torch.sin(weather @ pattern).sum(1, keepdim=True) / 1.3
    return weather, sunshine + 0.2 * torch.randn(number, 1)


def rate(step):
    warm = min(1.0, (step + 1) / WARM_UP)
    fall = 1 - 0.7 * step / STEPS
    return BASE * warm * fall if is_faulty else warm * fall


model = nn.Sequential(
    nn.Linear(CELLS, 1024), nn.ReLU(), nn.Linear(1024, 512), nn.ReLU(), nn.Linear(512, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), lr=BASE, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, rate)
criterion = nn.MSELoss()
weather, sunshine = days(30_000)
total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, len(weather), (BATCH,))
    loss = criterion(model(weather[rows]), sunshine[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    schedule.step()
    total += loss.item()
    if step % 60 == 59:
        print(f"{step + 1}: {total / 60:.4f}, rate {schedule.get_last_lr()[0]:.1e}")
        total = 0.0
