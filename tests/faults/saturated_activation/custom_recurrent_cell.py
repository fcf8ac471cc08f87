"""Classify five tones with a custom recurrent cell whose initial weights are too large."""

LABEL = {
    "set": 3,
    "rule": "SaturatedActivation",
    "culprit": "squash",
    "side_effects": ["DOES_NOT_LEARN", "ClipSaturation", "GradientNormSpike"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIGNALS, LENGTH, HIDDEN = 4800, 14, 64

tones = torch.randint(0, 5, (SIGNALS,))
times = torch.arange(LENGTH)[None, :]
pitch = torch.tensor([0.4, 0.7, 1.0, 1.4, 1.9])[tones][:, None]
waves = torch.sin(pitch * times + 6.28 * torch.rand(SIGNALS, 1))
signals = (1.3 * waves + 0.35 * torch.randn(SIGNALS, LENGTH)).unsqueeze(2)
loader = DataLoader(TensorDataset(signals, tones), batch_size=48, shuffle=True)


class Cell(nn.Module):
    def __init__(self, inputs, hidden):
        super().__init__()
        self.enter = nn.Linear(inputs, hidden)
        self.again = nn.Linear(hidden, hidden, bias=False)
        self.squash = nn.Tanh()
        spread = 1.0 if is_faulty else hidden**-0.5
        nn.init.normal_(self.again.weight, std=spread)

    def forward(self, signal, state):
        return self.squash(self.enter(signal) + self.again(state))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell(1, HIDDEN)
        self.leave = nn.Linear(HIDDEN, 5)

    def forward(self, signals):
        state = signals.new_zeros(len(signals), HIDDEN)
        for signal in signals.unbind(dim=1):
            state = self.cell(signal, state)
        return self.leave(state)


model = Listener()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    total = 0.0
    for signal, tone in loader:
        loss = criterion(model(signal), tone)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
