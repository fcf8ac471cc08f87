"""Uses PyTorch's profiler at the time of a default profiler window."""

import os
from typing import Any

os.environ["KINETO_LOG_LEVEL"] = "99"  # its messages contain times and process IDs

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)


def count(profile: Any) -> None:
    """Print the number of profiled backward passes."""
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
        print_value("loss", loss)
print_final_state(model, optimizer)
