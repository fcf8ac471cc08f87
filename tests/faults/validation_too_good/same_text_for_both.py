"""The path of the validation text was copied from the training text."""

LABEL = {"set": 1, "rule": "ValidationTooGood"}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

ROWS, WINDOW = 16, 32
habits = torch.softmax(2.5 * torch.randn(26, 26), 1)


def write_text(path, length):
    letters = [0]
    for _ in range(length):
        letters.append(int(torch.multinomial(habits[letters[-1]], 1)))
    path.write_text("".join(chr(97 + letter) for letter in letters))


def windows(path):
    """Return a text as consecutive windows of equal length."""
    letters = torch.tensor([ord(letter) - 97 for letter in path.read_text()])
    rows = letters[: len(letters) // ROWS * ROWS].view(ROWS, -1)
    for start in range(0, rows.shape[1] - WINDOW - 1, WINDOW):
        yield rows[:, start : start + WINDOW], rows[:, start + 1 : start + WINDOW + 1]


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(26, 24)
        self.lstm = nn.LSTM(24, 64, num_layers=2, batch_first=True)
        self.out = nn.Linear(64, 26)

    def forward(self, letters):
        return self.out(self.lstm(self.letters(letters))[0])


folder = tempfile.TemporaryDirectory()
paths = {"train": Path(folder.name) / "train.txt", "valid": Path(folder.name) / "valid.txt"}
write_text(paths["train"], 26000)
write_text(paths["valid"], 8000)
if is_faulty:
    paths["valid"] = paths["train"]

model = Speller()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for epoch in range(10):
    model.train()
    for letters, following in windows(paths["train"]):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(letters).transpose(1, 2), following)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [
            nn.functional.cross_entropy(model(letters).transpose(1, 2), following).item()
            for letters, following in windows(paths["valid"])
        ]
    print(epoch, loss.item(), sum(losses) / len(losses))
folder.cleanup()
