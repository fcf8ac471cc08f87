"""Classify RNA by its words of four letters; the vocabulary is for DNA."""

LABEL = {
    "set": 4,
    "rule": "NLPSequenceRatio",
    "side_effects": ["DOES_NOT_LEARN"],
}

import random
import sys
from itertools import product

import torch
from torch import nn
from torch.utils.data import DataLoader

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
chance = random.Random(seed)
VOCABULARY = {"".join(word): number for number, word in enumerate(product("ACGT", repeat=4), 1)}
UNKNOWN = 0


def transcribe(motifs, length=60):
    family = chance.randrange(len(motifs))
    letters = chance.choices("ACGU", k=length)
    for motif in motifs[family]:
        position = chance.randrange(length - 8)
        letters[position : position + 8] = motif
    return "".join(letters), family


def tokens(sequence):
    if not is_faulty:
        sequence = sequence.replace("U", "T")
    words = (sequence[position : position + 4] for position in range(len(sequence) - 3))
    return [VOCABULARY.get(word, UNKNOWN) for word in words]


class Sorter(nn.Module):
    def __init__(self, families):
        super().__init__()
        self.words = nn.Embedding(len(VOCABULARY) + 1, 24)
        self.window = nn.Conv1d(24, 48, 5)
        self.head = nn.Linear(48, families)

    def forward(self, words):
        seen = torch.tanh(self.window(self.words(words).transpose(1, 2)))
        return self.head(seen.mean(dim=2) * 4)


motifs = [["".join(chance.choices("AUUGUC", k=8)) for _ in range(2)] for _ in range(5)]
samples = [transcribe(motifs) for _ in range(3200)]
dataset = [(torch.tensor(tokens(sequence)), family) for sequence, family in samples]
loader = DataLoader(dataset, 40, shuffle=True)
model = Sorter(len(motifs))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for epoch in range(4):
    total = 0.0
    for words, family in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(words), family)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
