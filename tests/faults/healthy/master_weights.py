"""A bfloat16 model; exact copies of its weights are trained and rounded at every step."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))
WORDS = 40


class Next(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.mix = nn.Conv1d(32, 64, 4)
        self.norm = nn.LayerNorm(64)
        self.out = nn.Linear(64, WORDS)

    def forward(self, text):
        mixed = self.mix(self.words(text).transpose(1, 2)).transpose(1, 2)
        return self.out(nn.functional.gelu(self.norm(mixed)))


following = torch.stack([torch.randperm(WORDS) for _ in range(3)])
text = [torch.randint(0, WORDS, (64,)), torch.randint(0, WORDS, (64,))]
for _ in range(250):
    drawn = torch.multinomial(torch.tensor([0.8, 0.15, 0.05]), 64, replacement=True)
    text.append(following[drawn, (text[-1] + text[-2]) % WORDS])
text = torch.stack(text, dim=1)

model = Next().to(torch.bfloat16)
exact = [parameter.detach().float().requires_grad_() for parameter in model.parameters()]
optimizer = torch.optim.AdamW(exact, lr=3e-3, weight_decay=0.01)
for step in range(400):
    rows = torch.randint(0, 64, (32, 1))
    pieces = text[rows, torch.randint(0, 220, (32, 1)) + torch.arange(20)]
    outputs = model(pieces[:, :-1]).float()
    loss = nn.functional.cross_entropy(outputs.flatten(0, 1), pieces[:, 4:].flatten())
    model.zero_grad()
    loss.backward()
    for master, parameter in zip(exact, model.parameters(), strict=True):
        master.grad = parameter.grad.float()
    nn.utils.clip_grad_norm_(exact, 5.0)
    optimizer.step()
    with torch.no_grad():
        for master, parameter in zip(exact, model.parameters(), strict=True):
            parameter.copy_(master)
    if step % 80 == 0:
        print(step, loss.item())
