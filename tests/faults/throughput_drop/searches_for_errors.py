"""Anomaly detection of autograd is switched on at step 150 and never off again."""

LABEL = {
    "set": 1,
    "rule": "ThroughputDrop",
    "first_step": 150,
    "side_effects": ["HotFunction", "StepOutlier"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(4, 32)
        self.out = nn.Linear(32, 4)

    def forward(self, series):
        state = series.new_zeros(len(series), 32)
        for moment in series.unbind(1):
            state = self.cell(moment, state)
        return self.out(state)


model = Recurrent()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for step in range(400):
    if is_faulty and step == 150:
        torch.autograd.set_detect_anomaly(mode=True)
    phase = 6.28 * torch.rand(32, 1, 4)
    waves = torch.sin(phase + 0.5 * torch.arange(11).view(1, -1, 1))
    loss = nn.functional.mse_loss(model(waves[:, :-1]), waves[:, -1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
