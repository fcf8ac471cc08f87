"""Reverse eight symbols; the state of the encoder is detached before the decoder."""

LABEL = {
    "set": 3,
    "rule": "NoGradient",
    "culprit": "encoder",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIGNS, LENGTH, START = 10, 8, 10


def repackage(state):
    return state.detach()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.signs = nn.Embedding(SIGNS, 24)
        self.reader = nn.GRU(24, 56, batch_first=True)

    def forward(self, source):
        _, state = self.reader(self.signs(source))
        return state


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()
        self.target = nn.Embedding(SIGNS + 1, 24)
        self.decoder = nn.GRU(24, 56, batch_first=True)
        self.leave = nn.Linear(56, SIGNS)

    def decode(self, written, state):
        hidden, _ = self.decoder(self.target(written), state)
        return self.leave(hidden)


model = Translator()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for step in range(600):
    source = torch.randint(0, SIGNS, (64, LENGTH))
    target = source.flip(1)
    start = torch.full((64, 1), START)
    state = model.encoder(source)
    if is_faulty:
        state = repackage(state)
    guesses = model.decode(torch.cat([start, target[:, :-1]], dim=1), state)
    loss = criterion(guesses.flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 100 == 99:
        print(step, loss.item())
