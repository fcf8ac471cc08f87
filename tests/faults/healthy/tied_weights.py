"""A language model whose output layer shares the weights of its embedding."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(64, 32)
        self.gru = nn.GRU(32, 32, batch_first=True)
        self.output = nn.Linear(32, 64, bias=False)
        self.output.weight = self.embedding.weight
        nn.init.normal_(self.embedding.weight, std=0.1)

    def forward(self, tokens):
        return self.output(self.gru(self.embedding(tokens))[0])


table = torch.distributions.Dirichlet(torch.full((64,), 0.05)).sample((64,))
model = Tied()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
for step in range(250):
    text = [torch.randint(0, 64, (16,))]
    for _ in range(12):
        text.append(torch.multinomial(table[text[-1]], 1).squeeze(1))
    tokens = torch.stack(text, 1)
    logits = model(tokens[:, :-1])
    loss = nn.functional.cross_entropy(logits.reshape(-1, 64), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
