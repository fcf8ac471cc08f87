"""LSTM tagging; optimizer groups contain the old name of a renamed layer."""

LABEL = {
    "set": 1,
    "rule": "ParameterNotUpdated",
    "culprit": "projection",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(30, 16)
        self.lstm = nn.LSTM(16, 24, batch_first=True, bidirectional=True)
        self.projection = nn.Linear(48, 24)  # was "bottleneck"
        self.tags = nn.Linear(24, 3)

    def forward(self, tokens):
        return self.tags(torch.tanh(self.projection(self.lstm(self.embedding(tokens))[0])))


def draw():
    tokens = torch.randint(0, 30, (16, 10))
    return tokens, (tokens + tokens.roll(1, dims=1)) % 3


model = Tagger()
slow = ("embedding", "lstm")
fast = ("bottleneck", "tags") if is_faulty else ("projection", "tags")
named = list(model.named_parameters())
optimizer = torch.optim.AdamW(
    [
        {"params": [parameter for name, parameter in named if name.startswith(slow)], "lr": 5e-3},
        {"params": [parameter for name, parameter in named if name.startswith(fast)], "lr": 1e-2},
    ]
)
for step in range(300):
    tokens, tags = draw()
    loss = nn.functional.cross_entropy(model(tokens).flatten(0, 1), tags.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item())
