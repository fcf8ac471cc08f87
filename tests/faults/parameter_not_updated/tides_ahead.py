"""The tide one, three and six hours ahead; the three heads are in a plain dict."""

LABEL = {
    "set": 5,
    "rule": "ParameterNotUpdated",
    "alternatives": ["UnchangedTensor", "NoGradient"],
    "side_effects": ["MissingZeroGrad", "GradientNormSpike", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
PAST = 36
HOURS = (1, 3, 6)


def tides(number):
    hour = torch.arange(PAST + max(HOURS) + 1)[None, :] + 1000 * torch.rand(number, 1)
    moon = torch.sin(2 * torch.pi * hour / 12.42) + 0.4 * torch.sin(2 * torch.pi * hour / 12)
    day = 0.3 * torch.sin(2 * torch.pi * hour / 23.93 + 1)
    level = (moon + day) * (0.8 + 0.4 * torch.rand(number, 1)) + 0.1 * torch.randn(hour.shape)
    return level[:, :PAST], {hours: level[:, PAST - 1 + hours, None] for hours in HOURS}


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(PAST, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.LayerNorm(64)
        )
        heads = {str(hours): nn.Linear(64, 1) for hours in HOURS}
        self.heads = heads if is_faulty else nn.ModuleDict(heads)

    def forward(self, past):
        body = self.body(past)
        return {hours: self.heads[str(hours)](body) for hours in HOURS}


model = Forecast()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=500)
for step in range(500):
    past, future = tides(64)
    forecasts = model(past)
    loss = sum(nn.functional.mse_loss(forecasts[hours], future[hours]) for hours in HOURS)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        print(f"{step}: {loss.item():.4f}")
