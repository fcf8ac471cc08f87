"""An echo state network: recurrent weights stay random, only the readout is trained."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Echo(nn.Module):
    def __init__(self, units=120, spectral_radius=0.9):
        super().__init__()
        self.rnn = nn.RNN(1, units, batch_first=True)
        self.read = nn.Linear(units, 1)
        with torch.no_grad():
            recurrent = torch.randn(units, units) * (torch.rand(units, units) < 0.1)
            radius = torch.linalg.eigvals(recurrent).abs().max()
            self.rnn.weight_hh_l0.copy_(spectral_radius * recurrent / radius)
            self.rnn.weight_ih_l0.uniform_(-0.5, 0.5)
        self.rnn.requires_grad_(False)

    def forward(self, series, state=None):
        states, state = self.rnn(series, state)
        return self.read(states), state


def mackey_glass(length, start):
    values = [start + 0.01 * number for number in range(18)]
    while len(values) < length + 300:
        late = values[-18]
        values.append(values[-1] + 0.2 * late / (1 + late**10) - 0.1 * values[-1])
    return values[300:]


starts = 0.5 + torch.rand(16)
series = torch.tensor([mackey_glass(2600, start.item()) for start in starts])
series = ((series - series.mean()) / series.std()).unsqueeze(2)

model = Echo()
optimizer = torch.optim.Adam(model.read.parameters(), lr=3e-3)
with torch.no_grad():
    state = model(series[:, :100])[1]
losses = []
for step in range(300):
    start = 100 + 8 * step
    guess, state = model(series[:, start : start + 8], state)
    loss = nn.functional.mse_loss(guess, series[:, start + 6 : start + 14])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if step % 50 == 49:
        print(f"{step + 1}: {sum(losses[-50:]) / 50:.4f}")
