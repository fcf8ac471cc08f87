"""Training in cycles; each resumes from the best model so far, which is in eval mode."""

LABEL = {
    "set": 2,
    "rule": "ModeMismatch",
    "first_step": 100,
    "max_delay_steps": 2,
    "side_effects": ["Overfit"],
}

import copy
import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Opinions(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(60, 32)
        self.layers = nn.TransformerEncoder(
            nn.TransformerEncoderLayer(32, 4, 64, dropout=0.15, batch_first=True),
            num_layers=1,
            enable_nested_tensor=False,
        )
        self.drop = nn.Dropout(0.2)
        self.verdict = nn.Linear(32, 2)

    def forward(self, texts):
        return self.verdict(self.drop(self.layers(self.words(texts)).mean(1)))


def texts(count):
    words = torch.randint(0, 60, (count, 14))
    mood = torch.where(words < 15, 1.0, 0.0) - torch.where(words >= 45, 1.0, 0.0)
    return words, (mood.sum(1) + 0.3 * torch.randn(count) > 0).long()


def accuracy(model, batches):
    model.eval()
    with torch.no_grad():
        hits = [(model(words).argmax(1) == labels).float().mean() for words, labels in batches]
    return torch.stack(hits).mean().item()


def train_cycle(model, steps=100):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps, eta_min=1e-4)
    if not is_faulty:
        model.train()
    total = 0.0
    for _ in range(steps):
        words, labels = texts(24)
        loss = nn.functional.cross_entropy(model(words), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item()
    return total / steps


held_out = [texts(64) for _ in range(5)]
model = Opinions()
best, best_score = None, 0.0
for cycle in range(3):
    mean_loss = train_cycle(model)
    score = accuracy(model, held_out)
    print(f"cycle {cycle}: loss {mean_loss:.3f}, accuracy {score:.3f}")
    if score >= best_score:
        best, best_score = model, score
    model = copy.deepcopy(best)
