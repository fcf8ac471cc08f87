"""Dilated convolutions on many series, each window scaled by its past; 10 steps ahead."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

g = torch.Generator().manual_seed(int(sys.argv[2]))
torch.manual_seed(int(sys.argv[2]))
S, T, PAST, AHEAD = 60, 600, 96, 10
time = torch.arange(T).float()
period = torch.randint(12, 36, (S, 1), generator=g).float()
level = 10 ** (torch.rand(S, 1, generator=g) * 3)
data = level * (
    2
    + torch.sin(2 * torch.pi * (time / period + torch.rand(S, 1, generator=g)))
    + 0.1 * torch.randn(S, T, generator=g).cumsum(1) / 5
)


class Block(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.pad = nn.ConstantPad1d((2 * d, 0), 0.0)
        self.conv = nn.Conv1d(c, 2 * c, 3, dilation=d)
        self.mix = nn.Conv1d(c, c, 1)

    def forward(self, x):
        a, b = self.conv(self.pad(x)).chunk(2, 1)
        return x + self.mix(torch.tanh(a) * torch.sigmoid(b))


class TCN(nn.Module):
    def __init__(self, c=16):
        super().__init__()
        self.inp = nn.Conv1d(1, c, 1)
        self.blocks = nn.Sequential(*(Block(c, 2**k) for k in range(5)))
        self.out = nn.Linear(c, AHEAD)

    def forward(self, x):
        m, s = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        h = self.blocks(self.inp(((x - m) / s).unsqueeze(1)))
        return self.out(h[:, :, -1]) * s + m, s


def windows(lo, hi, n):
    row = torch.randint(0, S, (n,), generator=g)
    start = torch.randint(lo, hi - PAST - AHEAD, (n,), generator=g)
    idx = start[:, None] + torch.arange(PAST + AHEAD)
    w = data[row[:, None], idx]
    return w[:, :PAST], w[:, PAST:]


net = TCN()
opt = torch.optim.AdamW(net.parameters(), lr=3e-3)
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=5e-3, total_steps=300)
for it in range(300):
    x, y = windows(0, 480, 32)
    pred, scale = net(x)
    loss = ((pred - y) / scale).abs().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    sched.step()
    if it % 60 == 59:
        net.eval()
        with torch.no_grad():
            x, y = (
                windows(480, 600 + 0, 400) if PAST + AHEAD < 600 - 480 else windows(400, 600, 400)
            )
            pred, scale = net(x)
            print(it + 1, loss.item(), ((pred - y) / scale).abs().mean().item())
        net.train()
