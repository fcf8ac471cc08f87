"""Transcribes tone sequences without timing information (CTC)."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
TONES, FRAMES, BINS, LONGEST = 6, 36, 16, 5

sounds = 2 * torch.randn(TONES, BINS)


def recordings(number):
    lengths = torch.randint(2, LONGEST + 1, (number,))
    tones = torch.randint(0, TONES, (number, LONGEST))
    slots = FRAMES // (LONGEST + 1)
    begins = torch.arange(LONGEST) * slots + torch.randint(0, 4, (number, LONGEST))
    lasts = torch.randint(3, 6, (number, LONGEST))
    frames = torch.arange(FRAMES)
    is_heard = (frames >= begins[:, :, None]) & (frames < (begins + lasts)[:, :, None])
    is_heard &= (torch.arange(LONGEST) < lengths[:, None])[:, :, None]
    spectra = torch.einsum("nlf,nlb->nfb", is_heard.float(), sounds[tones])
    return spectra + 0.4 * torch.randn_like(spectra), tones + 1, lengths


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.hear = nn.Conv1d(BINS, 48, 3, padding=1)
        self.norm = nn.LayerNorm(48)
        self.follow = nn.GRU(48, 32, batch_first=True, bidirectional=True)
        self.leave = nn.Linear(64, TONES + 1)

    def forward(self, spectra):
        heard = self.hear(spectra.transpose(1, 2)).transpose(1, 2)
        states, _ = self.follow(nn.functional.gelu(self.norm(heard)))
        return self.leave(states).log_softmax(dim=2)


spectra, tones, lengths = recordings(3000)
model = Writer()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
criterion = nn.CTCLoss(blank=0)
all_frames = torch.full((32,), FRAMES)
for step in range(300):
    rows = torch.randint(0, 3000, (32,))
    chances = model(spectra[rows])
    loss = criterion(chances.transpose(0, 1), tones[rows], all_frames, lengths[rows])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 3.0)
    optimizer.step()
    if step % 60 == 0:
        print(step, loss.item(), chances[0].argmax(dim=1).tolist())
