"""Tabular data with a rare outcome, class weights and early stopping."""

LABEL = {"set": 1, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
n = 9000
num = torch.randn(n, 10)
num[:, 3] = num[:, 3].exp()  # skewed, like incomes
job = torch.randint(0, 15, (n,))
region = torch.randint(0, 50, (n,))
job_effect, region_effect = torch.randn(15), 0.5 * torch.randn(50)
logit = (
    1.2 * num[:, 0]
    - num[:, 1]
    + 0.6 * torch.log(num[:, 3])
    + job_effect[job]
    + region_effect[region]
    - 3.2
)
y = torch.bernoulli(torch.sigmoid(logit))
perm = torch.randperm(n)
tr, va, te = perm[:6500], perm[6500:7700], perm[7700:]
mean, std = num[tr].mean(0), num[tr].std(0)
num = (num - mean) / std


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.job = nn.Embedding(15, 4)
        self.region = nn.Embedding(50, 6)
        self.bn = nn.BatchNorm1d(20)
        self.body = nn.Sequential(
            nn.Linear(20, 64),
            nn.GELU(),
            nn.Dropout(0.2),
            nn.Linear(64, 64),
            nn.GELU(),
            nn.Dropout(0.2),
        )
        self.out = nn.Linear(64, 1)

    def forward(self, x, j, r):
        h = torch.cat([x, self.job(j), self.region(r)], -1)
        return self.out(self.body(self.bn(h))).squeeze(-1)


net = Net()
pos_weight = (1 - y[tr]).sum() / y[tr].sum()
print("positives", y[tr].mean().item(), "weight", pos_weight.item())
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=1e-2)
best, best_state, bad = float("inf"), None, 0
for epoch in range(12):
    net.train()
    total = 0.0
    for idx in tr[torch.randperm(len(tr))].split(100):
        logits = net(num[idx], job[idx], region[idx])
        loss = F.binary_cross_entropy_with_logits(logits, y[idx], pos_weight=pos_weight)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 5.0)
        optimizer.step()
        total += loss.item() * len(idx)
    net.eval()
    with torch.no_grad():
        v = F.binary_cross_entropy_with_logits(
            net(num[va], job[va], region[va]), y[va], pos_weight=pos_weight
        ).item()
    print(f"{epoch:2d} {total / len(tr):.4f} {v:.4f}")
    if v < best - 1e-4:
        best, best_state, bad = v, copy.deepcopy(net.state_dict()), 0
    else:
        bad += 1
        if bad == 2:
            print("stopped early")
            break
net.load_state_dict(best_state)
net.eval()
with torch.no_grad():
    p = torch.sigmoid(net(num[te], job[te], region[te]))
print(
    "balanced accuracy",
    ((p[y[te] == 1] > 0.5).float().mean() + (p[y[te] == 0] <= 0.5).float().mean()).item() / 2,
)
