"""Predict the next note of a tune; a checkpoint is saved at every step."""

LABEL = {
    "set": 6,
    "rule": "SlowCheckpoints",
    "first_step": 0,
    "side_effects": ["StepOutlier", "HotFunction", "DiskFull", "IOBottleneck"],
}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NOTES, LENGTH, STEPS, BATCH = 48, 16, 400, 32
SAVE_EVERY = 1 if is_faulty else 100
moves = (2.5 * torch.randn(NOTES, NOTES)).softmax(1)


def tunes(number):
    notes = [torch.randint(0, NOTES, (number,))]
    for _ in range(LENGTH):
        notes.append(torch.multinomial(moves[notes[-1]], 1).squeeze(1))
    return torch.stack(notes, 1)


class Player(nn.Module):
    def __init__(self):
        super().__init__()
        self.notes = nn.Embedding(NOTES, 64)
        self.memory = nn.GRU(64, 128, batch_first=True)
        self.next = nn.Linear(128, NOTES)

    def forward(self, notes):
        return self.next(self.memory(self.notes(notes))[0])


model = Player()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
played = tunes(80_000)
total = 0.0
with tempfile.TemporaryDirectory() as folder:
    for step in range(STEPS):
        tune = played[torch.randint(0, len(played), (BATCH,))]
        optimizer.zero_grad()
        loss = criterion(model(tune[:, :-1]).flatten(0, 1), tune[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % SAVE_EVERY == SAVE_EVERY - 1:
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "tunes": played,
                "step": step,
            }
            torch.save(state, Path(folder) / "last.pt")
        if step % 40 == 39:
            print(f"{step + 1}: {total / 40:.4f}", flush=True)
            total = 0.0
