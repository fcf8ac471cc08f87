"""A masked language model: 15% of the words are hidden, all others have no label."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

padding, hidden, words, topics = 0, 1, 62, 4
usage = (2.2 * torch.randn(topics, words - 2)).softmax(1)


class Filler(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(words, width, padding_idx=padding)
        self.places = nn.Embedding(20, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, 0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.guess = nn.Linear(width, words)

    def forward(self, texts):
        embedded = self.words(texts) + self.places(torch.arange(texts.shape[1]))
        return self.guess(self.layers(embedded, src_key_padding_mask=texts == padding))


def sentences(count):
    topic = torch.randint(0, topics, (count,))
    texts = 2 + torch.multinomial(usage[topic], 20, replacement=True)
    lengths = torch.randint(12, 21, (count, 1))
    return texts.masked_fill(torch.arange(20) >= lengths, padding)


model = Filler()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
schedule = torch.optim.lr_scheduler.LambdaLR(
    optimizer, lambda step: min((step + 1) / 60, (60 / (step + 1)) ** 0.5)
)
criterion = nn.CrossEntropyLoss(ignore_index=-100)
for step in range(300):
    texts = sentences(24)
    chosen = (torch.rand(texts.shape) < 0.15) & (texts != padding)
    labels = texts.masked_fill(~chosen, -100)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = model(texts.masked_fill(chosen, hidden))
        loss = criterion(scores.flatten(0, 1), labels.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 50 == 49:
        print(f"{step + 1}: {loss.item():.3f}")
