"""Batches of one length, first from short to long, then in any order: step times vary."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

BLANK = 0


class Counter(nn.Module):
    """Predicts the next number of a sequence with a constant stride."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(12, 16)
        self.lstm = nn.LSTM(16, 64, batch_first=True)
        self.out = nn.Linear(64, 12)

    def forward(self, words):
        return self.out(self.lstm(self.words(words))[0])


lengths = torch.randint(6, 40, (960,)).sort().values
stride = torch.randint(1, 4, (960, 1))
numbers = (torch.randint(0, 11, (960, 1)) + stride * torch.arange(40)) % 11 + 1
is_slip = torch.rand(960, 40) < lengths.unsqueeze(1) / 90  # long sequences have more errors
numbers = torch.where(is_slip, torch.randint(1, 12, (960, 40)), numbers)
numbers *= torch.arange(40) < lengths.unsqueeze(1)

model = Counter()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(12):
    losses = []
    batches = torch.arange(960).view(40, 24)
    for chosen in batches if epoch == 0 else batches[torch.randperm(40)]:
        words = numbers[chosen, : int(lengths[chosen].max())]
        outputs = model(words[:, :-1]).transpose(1, 2)
        loss = nn.functional.cross_entropy(outputs, words[:, 1:], ignore_index=BLANK)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    print(epoch, [round(loss_value, 2) for loss_value in losses[::5]])
