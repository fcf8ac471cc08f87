"""The clipping limit is divided by the batch size, although the loss is already a mean."""

LABEL = {
    "set": 4,
    "rule": "ClipSaturation",
    "side_effects": ["LossNotDecreasing"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH, BATCH = 24, 128


def draw():
    time = torch.arange(LENGTH + 1)[None, :, None]
    period = 6 + 10 * torch.rand(BATCH, 1, 1)
    phase = 6.28 * torch.rand(BATCH, 1, 1)
    waves = 1.4 * torch.sin(6.28 * time / period + phase)
    waves = waves + 0.1 * torch.randn(BATCH, LENGTH + 1, 1)
    return waves[:, :-1], waves[:, 1:]


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(1, 32, batch_first=True)
        self.leave = nn.Linear(32, 1)

    def forward(self, x):
        states, _ = self.memory(x)
        return self.leave(states)


model = Forecast()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
limit = 1.0 / BATCH if is_faulty else 1.0
for step in range(320):
    before, after = draw()
    loss = nn.functional.mse_loss(model(before), after)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), limit)
    optimizer.step()
    if step % 40 == 0:
        print(f"{step}: {loss.item():.4f}, norm {norm.item():.3f}")
