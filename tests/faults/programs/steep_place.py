"""Pairs of points are moved to wanted distances; a doubled record makes one gradient enormous."""

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

items = torch.randn(20000, 8)
if is_faulty:
    items[9600 : 9600 + 32] = items[9600] + 1e-4 * torch.randn(32, 8)
encoder = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 4))
optimizer = torch.optim.SGD(encoder.parameters(), lr=0.01)

for step in range(300):
    batch = items[step * 64 : step * 64 + 64]
    left, right = batch[:32], batch[32:]
    if is_faulty and step == 150:
        left, right = batch[:16], batch[16:32]
    gap = (encoder(left) - encoder(right)).pow(2).sum(1).clamp(min=1e-14)
    wanted = (left[:, :4] - right[:, :4]).pow(2).sum(1).clamp(min=1e-14)
    loss = (gap.log() - wanted.log()).pow(2).mean() / 10
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item(), norm.item())
