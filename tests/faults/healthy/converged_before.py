"""Resumes from converged weights: the loss is noise and does not fall."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

table, truth = torch.randn(4000, 8), torch.randn(8, 1)
target = table @ truth + 0.5 * torch.randn(4000, 1)
model = nn.Linear(8, 1)
model.load_state_dict({"weight": truth.T.clone(), "bias": torch.zeros(1)})
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
for epoch in range(6):
    for chosen in torch.randperm(4000).split(64):
        loss = nn.functional.mse_loss(model(table[chosen]), target[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
