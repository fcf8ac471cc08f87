"""Tabular pretraining on masked columns, then training on labels with another optimizer."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(int(sys.argv[2]))
hidden = torch.randn(8000, 5)
table = torch.tanh(hidden @ torch.randn(5, 20) / 1.5) + 0.1 * torch.randn(8000, 20)
table = (table - table.mean(0)) / table.std(0)
label = (hidden[:, 0] * hidden[:, 1] > 0).long()
encoder = nn.Sequential(nn.Linear(40, 96), nn.GELU(), nn.Linear(96, 48), nn.GELU())
decoder = nn.Linear(48, 20)

opt = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
for step in range(450):
    x = table[torch.randint(0, 7000, (128,))]
    mask = (torch.rand_like(x) < 0.3).float()
    recon = decoder(encoder(torch.cat([x * (1 - mask), mask], 1)))
    loss = ((recon - x) ** 2 * mask).sum() / mask.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if step % 90 == 0:
        print("pretrain", step, loss.item())

head = nn.Linear(48, 2)
opt = torch.optim.AdamW(
    [{"params": encoder.parameters(), "lr": 3e-4}, {"params": head.parameters(), "lr": 3e-3}]
)
labeled = torch.randperm(7000)[:2000]
for epoch in range(5):
    for idx in labeled[torch.randperm(2000)].split(50):
        x = table[idx]
        loss = F.cross_entropy(head(encoder(torch.cat([x, torch.zeros_like(x)], 1))), label[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    with torch.no_grad():
        x = table[7000:]
        out = head(encoder(torch.cat([x, torch.zeros_like(x)], 1)))
    print(
        "finetune",
        epoch,
        loss.item(),
        F.cross_entropy(out, label[7000:]).item(),
        (out.argmax(1) == label[7000:]).float().mean().item(),
    )
