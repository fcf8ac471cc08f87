"""Reconstructs hidden pixels in the first half of the epochs, then classifies digits."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))
d = load_digits()
X = torch.tensor(d.data, dtype=torch.float32) / 16 - 0.3
Y = torch.tensor(d.target)
perm = torch.randperm(len(X))
tr, te = perm[:1400], perm[1400:]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 32), nn.ReLU())
        self.rebuild, self.name = nn.Linear(32, 64), nn.Linear(32, 10)

    def forward(self, x, phase):
        h = self.body(x)
        return self.rebuild(h) if phase == "pretrain" else self.name(h)


net = Net()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(16):
    phase = "pretrain" if epoch < 8 else "finetune"
    for idx in tr[torch.randperm(len(tr))].split(40):
        if phase == "pretrain":
            out = net(X[idx] * (torch.rand(len(idx), 64) > 0.2), phase)
            loss = nn.functional.mse_loss(out, X[idx])
        else:
            loss = nn.functional.cross_entropy(net(X[idx], phase), Y[idx], label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
    print(phase, epoch, loss.item())
with torch.no_grad():
    print("test", (net(X[te], "finetune").argmax(1) == Y[te]).float().mean().item())
