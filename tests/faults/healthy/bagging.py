"""Five small regressors on bootstrap samples; their spread is the uncertainty."""

LABEL = {"set": 1, "rule": None}

import sys

import numpy as np
import torch
from torch import nn

seed = int(sys.argv[2])
rng = np.random.default_rng(seed)
torch.manual_seed(seed)
X = rng.uniform(-2, 2, (3000, 3)).astype(np.float32)
Y = (np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2 + rng.normal(0, 0.1, 3000)).astype(
    np.float32
)
Y = (Y - Y.mean()) / Y.std()
Xt, Yt = torch.from_numpy(X[2500:]), torch.from_numpy(Y[2500:])


class Member(nn.Module):
    def __init__(self):
        super().__init__()
        self.h1 = nn.Linear(3, 50)
        self.h2 = nn.Linear(50, 50)
        self.out = nn.Linear(50, 1)

    def forward(self, x):
        return self.out(torch.relu(self.h2(torch.relu(self.h1(x))))).squeeze(-1)


members = []
for m in range(5):
    boot = rng.integers(0, 2500, 2500)
    xb, yb = torch.from_numpy(X[boot]), torch.from_numpy(Y[boot])
    net = Member()
    opt = torch.optim.Adam(net.parameters(), lr=4e-3)
    sched = torch.optim.lr_scheduler.LinearLR(opt, 1.0, 0.1, total_iters=5)
    for epoch in range(5):
        for idx in torch.randperm(2500).split(100):
            opt.zero_grad()
            loss = nn.functional.smooth_l1_loss(net(xb[idx]), yb[idx])
            loss.backward()
            opt.step()
        sched.step()
    members.append(net)
    print("member", m, loss.item())
with torch.no_grad():
    preds = torch.stack([net(Xt) for net in members])
print(
    "single",
    [(p - Yt).pow(2).mean().item() for p in preds],
    "all",
    (preds.mean(0) - Yt).pow(2).mean().item(),
)
