"""A transformer whose gradients are clipped at nearly every step, as usual."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

embedding = nn.Embedding(20, 48)
layer = nn.TransformerEncoderLayer(48, 4, 96, dropout=0.0, batch_first=True, norm_first=True)
head = nn.Linear(48, 20)
model = nn.ModuleList([embedding, layer, head])
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, betas=(0.9, 0.95))
for step in range(300):
    tokens = torch.randint(0, 20, (16, 8))
    targets = tokens.flip(1)
    positions = torch.sin(torch.arange(8).unsqueeze(1) * torch.arange(1, 49) / 8)
    output = head(layer(embedding(tokens) + positions))
    loss = nn.functional.cross_entropy(output.flatten(0, 1), targets.flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
