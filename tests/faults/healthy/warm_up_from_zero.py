"""A small transformer with a long warm-up from a learning rate of exactly 0."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 32)
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(32, 4)

    def forward(self, tokens):
        return self.head(self.encoder(self.embedding(tokens)).mean(1))


model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min(step / 150, max(0.0, (350 - step) / 200))
)
for step in range(350):
    tokens = torch.randint(0, 30, (32, 10))
    labels = torch.stack([(tokens % 4 == kind).sum(1) for kind in range(4)], 1).argmax(1)
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    if step % 50 == 0:
        print(step, loss.item())
