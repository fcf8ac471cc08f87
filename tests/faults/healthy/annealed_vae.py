"""A VAE whose divergence gets more and more weight: the loss rises, as intended."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))

x = torch.tensor(load_digits().data, dtype=torch.float32) / 16
encoder = nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 12))
decoder = nn.Sequential(nn.Linear(6, 48), nn.ReLU(), nn.Linear(48, 64))
optimizer = torch.optim.Adam([*encoder.parameters(), *decoder.parameters()], lr=2e-3)
step = 0
for epoch in range(8):
    for chosen in torch.randperm(len(x)).split(36):
        mean, log_variance = encoder(x[chosen]).chunk(2, dim=1)
        output = decoder(mean + torch.randn_like(mean) * (log_variance / 2).exp())
        error = (output - x[chosen]).pow(2).sum(1).mean()
        divergence = 0.5 * (mean**2 + log_variance.exp() - 1 - log_variance).sum(1).mean()
        loss = error + min(1.0, step / 300) * divergence
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    print(epoch, loss.item(), divergence.item())
