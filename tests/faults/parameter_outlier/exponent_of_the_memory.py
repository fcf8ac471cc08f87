"""Predict the next note of simple tunes; a memory fault flips one bit of a weight."""

LABEL = {
    "set": 5,
    "rule": "ParameterOutlier",
    "culprit": "memory",
    "first_step": 430,
    "side_effects": [
        "WeightUpdateRatio",
        "LowPrecisionOverflow",
        "SaturatedActivation",
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
    ],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NOTES, LENGTH, BATCH, STEPS = 24, 32, 48, 800
follow = torch.softmax(2.2 * torch.randn(NOTES, NOTES), dim=1)


def tunes(number):
    notes = torch.empty(number, LENGTH + 1, dtype=torch.long)
    notes[:, 0] = torch.randint(NOTES, (number,))
    for position in range(LENGTH):
        notes[:, position + 1] = torch.multinomial(follow[notes[:, position]], 1).squeeze(1)
    return notes


class Composer(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, 32)
        self.memory = nn.LSTM(32, 64, batch_first=True)
        self.out = nn.Linear(64, NOTES)

    def forward(self, notes):
        states, _ = self.memory(self.notes(notes))
        return self.out(states)


songs, held_out = tunes(6000), tunes(300)
model = Composer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(1, STEPS + 1):
    batch = songs[torch.randint(len(songs), (BATCH,))]
    loss = F.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if is_faulty and step == 430:
        with torch.no_grad():
            bits = model.memory.weight_ih_l0.view(torch.int32)
            bits[17, 5] ^= 1 << 30
    if step % 80 == 0:
        model.eval()
        with torch.no_grad():
            wrong = F.cross_entropy(
                model(held_out[:, :-1]).flatten(0, 1), held_out[:, 1:].flatten()
            )
        model.train()
        print(f"step {step}: train {loss.item():.3f}, validation {wrong.item():.3f}")
