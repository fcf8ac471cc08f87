"""Forecast of 32 machines; windows with a deviation of 0 are standardized."""

LABEL = {
    "set": 2,
    "rule": "NonFiniteInput",
    "first_step": 160,
    "max_delay_steps": 2,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

machines, length, window = 32, 800, 16
times = torch.arange(float(length))
period = 8 + 10 * torch.rand(machines, 1)
level = 2 + torch.rand(machines, 1)
readings = level + torch.sin(6.283 * times / period + 6 * torch.rand(machines, 1))
readings += 0.15 * torch.randn(machines, length)
readings[7, 320:] = 0.0


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(1, 24, batch_first=True)
        self.next = nn.Linear(24, 1)

    def forward(self, past):
        states, _ = self.gru(past.unsqueeze(2))
        return self.next(states[:, -1]).squeeze(1)


def standardize(past, following):
    mean = past.mean(1, keepdim=True)
    spread = past.std(1, keepdim=True)
    if not is_faulty:
        spread = spread.clamp(min=0.05)
    return (past - mean) / spread, (following - mean.squeeze(1)) / spread.squeeze(1)


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(340):
    start = 2 * step
    past, following = standardize(readings[:, start : start + window], readings[:, start + window])
    loss = nn.functional.mse_loss(model(past), following)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 50 == 49:
        print(step + 1, loss.item())
