"""Twenty texts are read in parallel from start to end, with the state carried over."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

letters, streams, length, chunk = 20, 20, 2600, 12
lexicon = torch.randint(1, letters, (40, 5))
lexicon[:, 4] = 0
usage = 1 / torch.arange(1.0, 41.0)
spoken = torch.multinomial(usage, streams * length // 5, replacement=True)
text = lexicon[spoken].reshape(streams, length)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(letters, 24)
        self.lstm = nn.LSTM(24, 48, batch_first=True)
        self.drop = nn.Dropout(0.1)
        self.next = nn.Linear(48, letters)

    def forward(self, part, state):
        hidden, state = self.lstm(self.embed(part), state)
        return self.next(self.drop(hidden)), state


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=2.0)
for epoch in range(2):
    state = None
    for start in range(0, length - chunk - 1, chunk):
        part = text[:, start : start + chunk]
        targets = text[:, start + 1 : start + chunk + 1]
        if state is not None:
            state = tuple(each.detach() for each in state)
        scores, state = model(part, state)
        loss = nn.functional.cross_entropy(scores.transpose(1, 2), targets)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
    print(f"epoch {epoch}: {loss.item():.3f}")
    for group in optimizer.param_groups:
        group["lr"] /= 4
