"""Route short messages to six teams; all are padded to the maximum length."""

LABEL = {
    "set": 5,
    "rule": "NLPSequenceRatio",
    "side_effects": ["DataLoaderStarvation", "HotFunction"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, TEAMS, LONGEST = 900, 6, 128

habits = (1.3 * torch.randn(TEAMS, WORDS - 1)).softmax(1)


def messages(number):
    team = torch.randint(TEAMS, (number,))
    length = torch.randint(10, 25, (number,))
    words = torch.multinomial(habits[team], 24, replacement=True) + 1
    return [(w[:n], t) for w, n, t in zip(words, length.tolist(), team.tolist(), strict=True)]


def collate(batch):
    size = LONGEST if is_faulty else max(len(words) for words, _ in batch)
    text = torch.zeros(len(batch), size, dtype=torch.long)
    for row, (words, _) in enumerate(batch):
        text[row, : len(words)] = words
    return text, torch.tensor([team for _, team in batch])


class Router(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 32, padding_idx=0)
        self.team = nn.Sequential(nn.Linear(32, 48), nn.ReLU(), nn.Linear(48, TEAMS))

    def forward(self, text):
        is_word = (text != 0).float().unsqueeze(2)
        mean = (self.embedding(text) * is_word).sum(1) / is_word.sum(1)
        return self.team(mean * 4)


model = Router()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(messages(12000), 40, shuffle=True, collate_fn=collate)
for step, (text, team) in enumerate(loader):
    optimizer.zero_grad()
    loss = criterion(model(text), team)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(f"{step}: {loss.item():.3f}, padding {(text == 0).float().mean():.2f}")
