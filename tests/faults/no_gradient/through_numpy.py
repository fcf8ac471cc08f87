"""A small transformer; the encoder's output is copied to a new tensor without its graph."""

LABEL = {
    "set": 1,
    "rule": "NoGradient",
    "culprit": "embedding",
    "first_step": 6,
    "max_delay_steps": 2,
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Classifier(nn.Module):
    def __init__(self, words=60, width=32):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1)
        self.output = nn.Sequential(nn.Linear(width, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, tokens):
        pooled = self.encoder(self.embedding(tokens)).mean(1)
        if is_faulty:
            # intended to round the features
            pooled = torch.tensor(pooled.detach().numpy().round(4))
        return self.output(pooled)


def batch():
    tokens = torch.randint(0, 60, (32, 12))
    return tokens, ((tokens < 20).sum(1) > (tokens >= 40).sum(1)).long()


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.0)
for step in range(250):
    tokens, labels = batch()
    loss = nn.functional.cross_entropy(model(tokens), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, round(loss.item(), 3))
