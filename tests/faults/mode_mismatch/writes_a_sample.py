"""A character model that prints samples; the function for that leaves it in eval mode."""

LABEL = {
    "set": 1,
    "rule": "ModeMismatch",
    "first_step": 60,
    "max_delay_steps": 2,
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

TEXT = "the cat sat on the mat and the dog lay by the door while the rain fell on the roof " * 30
letters = sorted(set(TEXT))
codes = torch.tensor([letters.index(one) for one in TEXT])


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(len(letters), 24)
        self.gru = nn.GRU(24, 48, num_layers=2, dropout=0.2, batch_first=True)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(48, len(letters))

    def forward(self, tokens):
        return self.out(self.dropout(self.gru(self.embedding(tokens))[0]))


def sample(model):
    model.eval()
    tokens = torch.zeros(1, 1, dtype=torch.long)
    with torch.no_grad():
        for _ in range(20):
            tokens = torch.cat([tokens, model(tokens)[:, -1:].argmax(2)], dim=1)
    if not is_faulty:
        model.train()
    return "".join(letters[one] for one in tokens[0])


model = Writer()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
for step in range(180):
    begins = torch.randint(0, len(codes) - 25, (16,))
    pieces = torch.stack([codes[one : one + 25] for one in begins])
    loss = nn.functional.cross_entropy(model(pieces[:, :-1]).transpose(1, 2), pieces[:, 1:])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item(), sample(model))
