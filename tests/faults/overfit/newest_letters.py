"""Classify customer letters, then continue training on a few of the newest ones."""

LABEL = {
    "set": 5,
    "rule": "Overfit",
    "first_step": 800,
    "alternatives": ["LabelsUnrelated"],
    "side_effects": ["Overtraining", "LossDiverging", "VanishingGradient"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, SUBJECTS, LENGTH = 1500, 8, 24

usual = torch.randn(WORDS)
habits = torch.stack([(usual + 0.55 * torch.randn(WORDS)).softmax(0) for _ in range(SUBJECTS)])


def letters(number):
    subject = torch.randint(SUBJECTS, (number,))
    return torch.multinomial(habits[subject], LENGTH, replacement=True), subject


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 48)
        self.mixing = nn.Sequential(nn.Linear(96, 64), nn.ReLU(), nn.Linear(64, SUBJECTS))

    def forward(self, text):
        words = self.words(text)
        return self.mixing(torch.cat([words.mean(1), words.amax(1)], 1))


model = Sorter()
optimizer = torch.optim.Adam(model.parameters(), lr=2.5e-3)
criterion = nn.CrossEntropyLoss()
check = DataLoader(TensorDataset(*letters(1500)), 500)


def evaluate():
    model.eval()
    with torch.no_grad():
        lost = [criterion(model(text), subject).item() for text, subject in check]
    model.train()
    return sum(lost) / len(lost)


def train(data, steps, start):
    loader = DataLoader(data, 50, shuffle=True)
    step, recent = 0, []
    while step < steps:
        for text, subject in loader:
            optimizer.zero_grad()
            loss = criterion(model(text), subject)
            loss.backward()
            optimizer.step()
            recent.append(loss.item())
            step += 1
            if step % 40 == 0:
                mean = sum(recent) / len(recent)
                print(f"{start + step}: train {mean:.3f}, validation {evaluate():.3f}")
                recent.clear()
            if step == steps:
                break


train(TensorDataset(*letters(40000)), 800, 0)
train(TensorDataset(*letters(100 if is_faulty else 40000)), 800, 800)
