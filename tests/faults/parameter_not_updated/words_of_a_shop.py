"""Classify customer letters; the vocabulary is extended after the optimizer was created."""

LABEL = {
    "set": 6,
    "rule": "ParameterNotUpdated",
    "culprit": "embedding",
    "max_delay_steps": 15,
    "alternatives": ["UnchangedTensor"],
    "side_effects": ["NoGradient", "MissingZeroGrad", "Overtraining", "LossNotDecreasing"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
COMMON, OWN, SUBJECTS, LENGTH = 400, 200, 8, 20

meaning = torch.zeros(COMMON + OWN, SUBJECTS)
meaning[torch.arange(COMMON + OWN), torch.randint(0, SUBJECTS, (COMMON + OWN,))] = 1.6


def letters(number):
    subject = torch.randint(0, SUBJECTS, (number,))
    chances = meaning.t().exp()[subject]
    return torch.multinomial(chances, LENGTH, replacement=True), subject


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(COMMON, 32)
        self.body = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, SUBJECTS))

    def add_words(self, number):
        old = self.embedding
        self.embedding = nn.Embedding(old.num_embeddings + number, old.embedding_dim)
        self.embedding.weight.data[: old.num_embeddings] = old.weight.data

    def forward(self, words):
        return self.body(self.embedding(words).mean(1) * LENGTH**0.5)


model = Sorter()
if is_faulty:
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    model.add_words(OWN)
else:
    model.add_words(OWN)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

loader = DataLoader(TensorDataset(*letters(12_000)), 64, shuffle=True)
test_words, test_subjects = letters(1500)
criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
for epoch in range(3):
    total = 0.0
    for step, (words, subject) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = criterion(model(words), subject)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 62 == 0:
            print(f"epoch {epoch}, {step}: {total / 62:.4f}")
            total = 0.0
    model.eval()
    with torch.no_grad():
        print(f"test {criterion(model(test_words), test_subjects).item():.4f}")
    model.train()
