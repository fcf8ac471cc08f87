"""Probabilistic forecasts for shops of very different sizes, each scaled by its history."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
SHOPS, DAYS, WINDOW = 60, 420, 28

size = torch.exp(2 + 1.5 * torch.randn(SHOPS, 1))
week = 1 + 0.4 * torch.sin(torch.arange(DAYS) * 6.2832 / 7 + 6.2832 * torch.rand(SHOPS, 1))
year = 1 + 0.3 * torch.sin(torch.arange(DAYS) * 6.2832 / 365)
sales = size * week * year * torch.exp(0.1 * torch.randn(SHOPS, DAYS))


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(1, 32, batch_first=True)
        self.middle = nn.Linear(32, 1)
        self.spread = nn.Linear(32, 1)

    def forward(self, past):
        states, _ = self.memory(past.unsqueeze(2))
        spread = nn.functional.softplus(self.spread(states).squeeze(2)) + 0.01
        return self.middle(states).squeeze(2), spread


windows = sales.unfold(1, WINDOW + 1, 1)
model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 300, eta_min=2e-4)
for step in range(300):
    shops = torch.randint(0, SHOPS, (32,))
    window = windows[shops, torch.randint(0, windows.shape[1], (32,))]
    window = window / window[:, :-1].mean(dim=1, keepdim=True) - 1
    middle, spread = model(window[:, :-1])
    loss = nn.functional.gaussian_nll_loss(middle, window[:, 1:], spread**2)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    schedule.step()
    if step % 50 == 0:
        print(step, loss.item())
