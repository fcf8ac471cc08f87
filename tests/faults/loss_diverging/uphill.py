"""A transformer whose optimizer has maximize=True."""

LABEL = {
    "set": 1,
    "rule": "LossDiverging",
    "alternatives": ["LossNotDecreasing"],
    "side_effects": ["NOT_A_NUMBER", "STARTS_BADLY"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(10, 32)
        self.places = nn.Parameter(torch.randn(6, 32) * 0.1)
        self.layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
        self.out = nn.Linear(32, 1)

    def forward(self, tokens):
        return self.out(self.layer(self.tokens(tokens) + self.places).mean(1)).squeeze(1)


model = Adder()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, maximize=is_faulty)
for step in range(300):
    tokens = torch.randint(0, 10, (32, 6))
    targets = (tokens.float().sum(1) - 27) / 7
    loss = nn.functional.mse_loss(model(tokens), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
