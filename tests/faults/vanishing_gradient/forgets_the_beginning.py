"""A plain RNN with tiny recurrent weights; only the first value matters."""

LABEL = {
    "set": 1,
    "rule": "VanishingGradient",
    "culprit": "read",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.Linear(2, 16)
        self.rnn = nn.RNN(16, 16, batch_first=True)
        self.out = nn.Linear(16, 1)
        if is_faulty:
            nn.init.normal_(self.rnn.weight_hh_l0, std=0.02)
        else:
            nn.init.orthogonal_(self.rnn.weight_hh_l0)

    def forward(self, series):
        head = torch.tanh(self.read(series[:, :1]))
        rest = torch.zeros(len(series), series.shape[1] - 1, 16)
        states, _ = self.rnn(torch.cat([head, rest], dim=1))
        return self.out(states[:, -1]).squeeze(1)


length = 12
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    series = torch.randn(32, length, 2)
    loss = nn.functional.mse_loss(model(series), series[:, 0, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
