"""The vocabulary is lowercase, the texts are not: nearly all words are unknown."""

LABEL = {
    "set": 1,
    "rule": "NLPSequenceRatio",
    "culprit": "0",
    "side_effects": ["DOES_NOT_LEARN"],
}

import random
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
draw = random.Random(seed)

GOOD, BAD = ["Good", "Fine", "Lovely", "Great", "Warm"], ["Bad", "Cold", "Awful", "Poor", "Sad"]
OTHER = [f"Word{number}" for number in range(60)] + ["the", "of"]
vocabulary = {word.lower(): number for number, word in enumerate(GOOD + BAD + OTHER, start=1)}


def encode(text):
    words = text.split() if is_faulty else text.lower().split()
    return [vocabulary.get(word, 0) for word in words]


texts, labels = [], []
for _ in range(1200):
    is_good = draw.random() < 0.5
    words = draw.choices(OTHER, k=10) + draw.choices(GOOD if is_good else BAD, k=2)
    draw.shuffle(words)
    texts.append(" ".join(words))
    labels.append(float(is_good))
tokens, targets = torch.tensor([encode(text) for text in texts]), torch.tensor(labels)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(len(vocabulary) + 1, 24)
        self.filters = nn.Conv1d(24, 24, 3, padding=1)
        self.out = nn.Linear(24, 1)

    def forward(self, tokens):
        features = torch.relu(self.filters(self.words(tokens).transpose(1, 2)))
        return self.out(features.amax(2)).squeeze(1)


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(6):
    for chosen in torch.randperm(len(texts)).split(30):
        output = model(tokens[chosen])
        loss = nn.functional.binary_cross_entropy_with_logits(output, targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
