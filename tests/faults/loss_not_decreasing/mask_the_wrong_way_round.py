"""The padding mask of a transformer is inverted: it attends only to padding."""

LABEL = {
    "set": 1,
    "rule": "LossNotDecreasing",
    "side_effects": ["Overtraining", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

START, LONGEST = 1, 24


def reviews(count):
    """Return reviews of positive words (2 to 15) and negative ones, one kind more frequent."""
    labels = torch.randint(0, 2, (count, 1))
    is_typical = torch.rand(count, LONGEST) < 0.75
    words = torch.randint(2, 16, (count, LONGEST)) + 14 * (labels ^ ~is_typical)
    words[:, 0] = START
    lengths = torch.randint(14, LONGEST, (count, 1))
    return words * (torch.arange(LONGEST) < lengths), labels.squeeze(1)


class Critic(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.words = nn.Embedding(30, width, padding_idx=0)
        self.places = nn.Embedding(LONGEST, width)
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, 2)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)

    def forward(self, words):
        mask = words != 0 if is_faulty else words == 0
        vectors = self.words(words) + self.places.weight
        return self.head(self.encoder(vectors, src_key_padding_mask=mask)[:, 0])


model = Critic()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
hits = 0
for step in range(500):
    words, labels = reviews(48)
    logits = model(words)
    loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    hits += (logits.argmax(1) == labels).float().mean().item()
    if step % 100 == 99:
        print(step, loss.item(), hits / 100)
        hits = 0
