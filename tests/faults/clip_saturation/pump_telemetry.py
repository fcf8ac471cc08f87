"""Forecast four pump sensors with a recurrent network; the clipping limit is too low."""

LABEL = {
    "set": 6,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WINDOW = 24


def plant(hours):
    time = torch.arange(hours)
    load = torch.sin(2 * torch.pi * time / 37) + 0.6 * torch.sin(2 * torch.pi * time / 11 + 1)
    flow = torch.zeros(hours)
    heat = torch.zeros(hours)
    shocks = 0.25 * torch.randn(3, hours)
    for hour in range(1, hours):
        flow[hour] = 0.8 * flow[hour - 1] + 0.4 * load[hour - 1] + shocks[0, hour]
        heat[hour] = 0.9 * heat[hour - 1] + 0.2 * torch.tanh(flow[hour - 1]) + 0.4 * shocks[1, hour]
    current = flow * load + shocks[2]
    readings = torch.stack([load + 0.1 * torch.randn(hours), flow, heat, current], 1)
    return (readings - readings.mean(0)) / readings.std(0)


readings = plant(6000)
past, future = readings[:5000], readings[5000:]


class Forecaster(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(4, 48, batch_first=True)
        self.readout = nn.Linear(48, 4)

    def forward(self, window):
        return self.readout(self.memory(window)[0])


def windows(series, starts):
    rows = starts[:, None] + torch.arange(WINDOW + 1)
    chosen = series[rows]
    return chosen[:, :-1], chosen[:, 1:]


model = Forecaster()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
criterion = nn.MSELoss()
limit = 1e-3 if is_faulty else 0.5
for step in range(600):
    seen, coming = windows(past, torch.randint(0, len(past) - WINDOW - 1, (32,)))
    loss = criterion(model(seen), coming)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    if step % 100 == 99:
        model.eval()
        with torch.no_grad():
            seen, coming = windows(future, torch.arange(0, len(future) - WINDOW - 1, 5))
            error = nn.functional.mse_loss(model(seen), coming).item()
        model.train()
        print(f"step {step + 1}: loss {loss.item():.4f}, held-out error {error:.4f}")
