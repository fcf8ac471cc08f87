"""Prices of flats from a table and from texts, whose features are detached."""

LABEL = {
    "set": 5,
    "rule": "NoGradient",
    "culprit": "text",
    "max_delay_steps": 6,
    "side_effects": ["ParameterNotUpdated", "UnchangedTensor", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS = 120
worth, weights = 0.5 * torch.randn(WORDS), 0.4 * torch.randn(10)


def flats(number):
    table = torch.randn(number, 10)
    words = torch.randint(WORDS, (number, 12))
    price = table @ weights + worth[words].sum(1) * 0.6 + 0.2 * torch.randn(number)
    return table, words, price


class Text(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 24)
        self.mix = nn.Linear(24, 24)

    def forward(self, words):
        return torch.tanh(self.mix(self.embedding(words))).mean(1)


class Price(nn.Module):
    def __init__(self):
        super().__init__()
        self.text = Text()
        self.table = nn.Sequential(nn.Linear(10, 32), nn.GELU())
        self.head = nn.Sequential(nn.Linear(56, 32), nn.GELU(), nn.Linear(32, 1))
        self.last_text = None

    def forward(self, table, words):
        text = self.text(words)
        self.last_text = text.detach()  # to inspect later
        if is_faulty:
            text = self.last_text
        return self.head(torch.cat([self.table(table), text], 1)).squeeze(1)


table, words, price = flats(6000)
held = flats(800)
model = Price()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.SmoothL1Loss()
for epoch in range(6):
    order = torch.randperm(len(price))
    total = 0.0
    for rows in order.split(60):
        loss = criterion(model(table[rows], words[rows]), price[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 100
    with torch.no_grad():
        model.eval()
        wrong = criterion(model(held[0], held[1]), held[2]).item()
        model.train()
    print(f"epoch {epoch}: {total:.4f}, validation {wrong:.4f}")
