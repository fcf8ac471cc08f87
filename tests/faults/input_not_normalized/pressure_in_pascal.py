"""A GRU on two days of weather; air pressure is in pascals, near 100,000."""

LABEL = {
    "set": 1,
    "rule": "InputNotNormalized",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 32, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, weather):
        return self.out(self.gru(weather)[0][:, -1])


def draw(count):
    pressure = torch.randn(count, 24).cumsum(1) / 3
    wind, warmth = torch.randn(2, count, 24)
    rain = torch.tanh(pressure[:, :1] - pressure[:, -1:]) + 0.3 * wind[:, -1:]
    if is_faulty:
        pressure = 101325 + 600 * pressure
    return torch.stack([pressure, wind, warmth], dim=2), rain


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(250):
    weather, rain = draw(32)
    loss = nn.functional.mse_loss(model(weather), rain)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
