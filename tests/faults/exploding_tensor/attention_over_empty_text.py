"""Attention with a mask of minus infinity; one text has no words."""

LABEL = {
    "set": 1,
    "rule": "ExplodingTensor",
    "first_step": 120,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

LONGEST, WIDTH = 16, 32


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(80, WIDTH)
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.norm = nn.LayerNorm(WIDTH)
        self.out = nn.Linear(WIDTH, 1)

    def forward(self, tokens, lengths):
        is_there = torch.arange(LONGEST) < lengths.unsqueeze(1)
        words = self.words(tokens)
        scores = self.query(words) @ self.key(words).transpose(1, 2) / WIDTH**0.5
        scores = scores.masked_fill(~is_there.unsqueeze(1), float("-inf"))
        words = self.norm(words + scores.softmax(2) @ self.value(words))
        means = (words * is_there.unsqueeze(2)).sum(1) / lengths.clamp(min=1).unsqueeze(1)
        return self.out(means).squeeze(1)


class Reviews:
    def __init__(self, texts):
        self.tokens = torch.randint(0, 80, (texts, LONGEST))
        self.lengths = torch.randint(3, LONGEST + 1, (texts,))
        self.lengths[120 * 32 + 5] = 0 if is_faulty else 1
        is_there = torch.arange(LONGEST) < self.lengths.unsqueeze(1)
        moods = torch.randn(80)[self.tokens] * is_there
        self.likes = (moods.sum(1) > 0).float()

    def batches(self):
        for begin in range(0, len(self.tokens), 32):
            part = slice(begin, begin + 32)
            yield self.tokens[part], self.lengths[part], self.likes[part]


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step, (tokens, lengths, likes) in enumerate(Reviews(32 * 500).batches()):
    loss = nn.functional.binary_cross_entropy_with_logits(model(tokens, lengths), likes)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item())
