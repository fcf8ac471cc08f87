"""A masked language model with an inverted comparison: it hides 85% of the words."""

LABEL = {
    "set": 1,
    "rule": "NLPSequenceRatio",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

WORDS, LENGTH, MASK = 40, 24, 0


def sentences(count):
    """Return sentences with constant strides, so that neighbors determine a hidden word."""
    start = torch.randint(0, WORDS - 1, (count, 1))
    stride = torch.randint(1, 3, (count, 1))
    return (start + stride * torch.arange(LENGTH)) % (WORDS - 1) + 1


class MaskedModel(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.words = nn.Embedding(WORDS, width)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(width, 4, 96, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.out = nn.Linear(width, WORDS)

    def forward(self, tokens):
        return self.out(self.encoder(self.words(tokens) + self.places))


model = MaskedModel()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(500):
    tokens = sentences(32)
    chance = torch.rand(tokens.shape)
    is_hidden = chance > 0.15 if is_faulty else chance < 0.15
    logits = model(tokens.masked_fill(is_hidden, MASK))
    loss = nn.functional.cross_entropy(logits[is_hidden], tokens[is_hidden])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        print(step, loss.item(), is_hidden.float().mean().item())
