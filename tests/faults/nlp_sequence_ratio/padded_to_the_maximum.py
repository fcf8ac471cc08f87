"""A text classifier that pads every review to 128 tokens, although most have fifteen."""

LABEL = {
    "set": 1,
    "rule": "NLPSequenceRatio",
    "culprit": "0",
}

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

PADDING, WORDS = 0, 200
reviews = [torch.randint(1, WORDS, (int(n),)) for n in torch.randint(12, 20, (1500,))]
labels = torch.tensor([int((review < 70).sum() * 3 > len(review)) for review in reviews])


def collate(chosen):
    batch = pad_sequence([reviews[i] for i in chosen], batch_first=True, padding_value=PADDING)
    if is_faulty:
        batch = nn.functional.pad(batch, (0, 128 - batch.shape[1]), value=PADDING)
    return batch, labels[chosen]


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 16, padding_idx=PADDING)
        self.layer = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 2))

    def forward(self, tokens):
        is_word = (tokens != PADDING).unsqueeze(-1)
        words = self.embedding(tokens) * is_word
        return self.layer(words.sum(1) / is_word.sum(1))


model = Classifier()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for chosen in torch.randperm(1500).split(30):
        tokens, targets = collate(chosen)
        loss = nn.functional.cross_entropy(model(tokens), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
