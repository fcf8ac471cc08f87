"""A learning rate of 1e-10 instead of 3e-3: Adam hardly changes the weights."""

LABEL = {
    "set": 1,
    "rule": "WeightUpdateRatio",
    "alternatives": ["LossNotDecreasing"],
    "side_effects": ["UnchangedTensor", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.lstm = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.out = nn.Linear(48, 5)

    def forward(self, tokens):
        return self.out(self.lstm(self.embedding(tokens))[0])


model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-10 if is_faulty else 3e-3)
tags = torch.randint(0, 5, (50,))
for step in range(250):
    tokens = torch.randint(0, 50, (16, 10))
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tags[tokens].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
