"""A small transformer reverses words; an error rate is computed in Python after every step."""

LABEL = {
    "set": 6,
    "rule": "HotFunction",
    "side_effects": ["ThroughputDrop", "StepOutlier"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LETTERS, LENGTH, BATCH = 16, 24, 80


def words(number):
    word = torch.randint(1, LETTERS + 1, (number, LENGTH))
    backwards = word.flip(1)
    slips = torch.rand(backwards.shape) < 0.1
    return word, torch.where(slips, torch.randint_like(word, 1, LETTERS + 1), backwards)


def edits(left, right):
    """Return the edit distance between two words."""
    table = [[row + column for column in range(len(right) + 1)] for row in range(len(left) + 1)]
    for row in range(1, len(left) + 1):
        for column in range(1, len(right) + 1):
            change = table[row - 1][column - 1] + (left[row - 1] != right[column - 1])
            table[row][column] = min(table[row - 1][column] + 1, table[row][column - 1] + 1, change)
    return table[-1][-1]


def error_rate(scores, targets):
    written, meant = scores.argmax(-1).tolist(), targets.tolist()
    return sum(edits(left, right) for left, right in zip(written, meant, strict=False)) / (
        LENGTH * len(meant)
    )


class Writer(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.letters = nn.Embedding(LETTERS + 1, width)
        self.places = nn.Parameter(0.3 * torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 64, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 1, enable_nested_tensor=False)
        self.head = nn.Linear(width, LETTERS + 1)

    def forward(self, word):
        return self.head(self.body(self.letters(word) + self.places))


model = Writer()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 50))
criterion = nn.CrossEntropyLoss()
unseen, answers = words(BATCH)
errors = 1.0
for step in range(400):
    word, targets = words(BATCH)
    scores = model(word)
    loss = criterion(scores.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    warm_up.step()
    if is_faulty:
        errors = 0.9 * errors + 0.1 * error_rate(scores.detach(), targets)
    if step % 80 == 79:
        model.eval()
        with torch.no_grad():
            rate = error_rate(model(unseen), answers)
        model.train()
        print(f"{step + 1}: loss {loss.item():.3f}, {rate:.1%} of the letters wrong")
