"""Classify bird dialects; new loader processes per epoch, a checkpoint every ten steps."""

LABEL = {"set": 7, "rule": None}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
SYLLABLES, DIALECTS = 20, 6
habits = (2.2 * torch.randn(DIALECTS, SYLLABLES, SYLLABLES)).softmax(2)


def songs(number):
    dialect = torch.arange(number) % DIALECTS
    length = torch.randint(16, 41, (number,))
    syllable = torch.randint(SYLLABLES, (number,))
    sung = []
    for _ in range(40):
        syllable = torch.multinomial(habits[dialect, syllable], 1).squeeze(1)
        sung.append(syllable + 1)
    sung = torch.stack(sung, 1)
    return [(sung[n, : length[n]].clone(), int(dialect[n])) for n in range(number)]


def together(batch):
    heard = [song for song, _ in batch]
    lengths = torch.tensor([len(song) for song in heard])
    return pad_sequence(heard, batch_first=True), lengths, torch.tensor([kind for _, kind in batch])


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(SYLLABLES + 1, 24, padding_idx=0)
        self.memory = nn.GRU(24, 64, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.2), nn.Linear(64, DIALECTS))

    def forward(self, heard, lengths):
        packed = pack_padded_sequence(
            self.embedding(heard), lengths, batch_first=True, enforce_sorted=False
        )
        return self.head(self.memory(packed)[1][0])


def save(folder, number):
    saved = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": number}
    torch.save(saved, folder / f"step-{number:05d}.pt")
    for old in sorted(folder.glob("step-*.pt"))[:-2]:
        old.unlink()


def evaluate(loader):
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(heard, lengths), kind).item() for heard, lengths, kind in loader]
    return sum(losses) / len(losses)


training = DataLoader(songs(1600), 32, shuffle=True, num_workers=1, collate_fn=together)
held_out = DataLoader(songs(1800), 120, collate_fn=together)
model = Listener()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
criterion = nn.CrossEntropyLoss()
step = 0
with tempfile.TemporaryDirectory() as name:
    for epoch in range(6):
        model.train()
        total = 0.0
        for heard, lengths, kind in training:
            optimizer.zero_grad()
            loss = criterion(model(heard, lengths), kind)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
            step += 1
            if step % 10 == 0:
                save(Path(name), step)
        print(f"epoch {epoch}: {total / len(training):.3f}, held out {evaluate(held_out):.3f}")
