"""A masked language model that keeps 15% of the words instead of hiding 15%."""

LABEL = {
    "set": 2,
    "rule": "NLPSequenceRatio",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, LENGTH, MASK = 64, 24, 4


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.places = nn.Parameter(0.02 * torch.randn(LENGTH, 32))
        layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.words_again = nn.Linear(32, WORDS)

    def forward(self, text):
        return self.words_again(self.layers(self.words(text) + self.places))


def texts(number):
    """Return sentences with a constant stride between words, and some noise."""
    start = torch.randint(0, 12, (number, 1))
    words = 5 + (start + torch.arange(LENGTH) * 2) % 59
    others = torch.randint(5, WORDS, words.shape)
    return torch.where(torch.rand(words.shape) < 0.08, others, words)


model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
for step in range(300):
    text = texts(32)
    drawn = torch.rand(text.shape)
    hidden = drawn > 0.15 if is_faulty else drawn < 0.15
    outputs = model(text.masked_fill(hidden, MASK))
    loss = nn.functional.cross_entropy(outputs[hidden], text[hidden])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 2.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
