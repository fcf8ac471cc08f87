"""Profiles itself with PyTorch's own profiler, right where a window is open by default."""

import os
from typing import Any

os.environ["KINETO_LOG_LEVEL"] = "99"  # it would say when it was used, and in which process

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def count(profile: Any) -> None:
    """What it has seen."""
    observed = sum(event.name == "AddmmBackward0" for event in profile.events())
    print("backward passes of layers:", observed)


schedule = torch.profiler.schedule(wait=5, warmup=1, active=2, repeat=1)
with torch.profiler.profile(schedule=schedule, on_trace_ready=count, acc_events=True) as profile:
    for _ in range(12):
        loss = model(torch.randn(16, 8)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        profile.step()
        tell("loss", loss)
tell_end(model, optimizer)
