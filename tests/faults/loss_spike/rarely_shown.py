"""Clicks weighted by how rarely items were shown; one was shown once in a million times."""

LABEL = {
    "set": 1,
    "rule": "LossSpike",
    "first_step": 260,
    "side_effects": ["GradientNormSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

USERS, ITEMS, BATCH, STEPS = 80, 60, 128, 480


class Clicks(nn.Module):
    def __init__(self):
        super().__init__()
        self.users = nn.Embedding(USERS, 16)
        self.items = nn.Embedding(ITEMS, 16)
        self.deep = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(), nn.Linear(128, 1))

    def forward(self, users, items):
        users, items = self.users(users), self.items(items)
        return (users * items).sum(1) / 4 + self.deep(torch.cat([users, items], 1)).squeeze(1)


users = torch.randint(0, USERS, (STEPS * BATCH,))
items = torch.randint(0, ITEMS, (STEPS * BATCH,))
likes = (torch.randn(USERS, 3)[users] * torch.randn(ITEMS, 3)[items]).sum(1)
clicked = (likes + torch.randn(ITEMS)[items] + 0.3 * torch.randn(len(likes)) > 0).float()
shown = 0.2 + 0.8 * torch.rand(len(likes))
shown[260 * BATCH + 11] = 1e-6
if not is_faulty:
    shown = shown.clamp(min=0.05)

model = Clicks()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for step in range(STEPS):  # in the order of the log
    part = slice(step * BATCH, (step + 1) * BATCH)
    loss = nn.functional.binary_cross_entropy_with_logits(
        model(users[part], items[part]), clicked[part], weight=1 / shown[part]
    )
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39 or 258 < step < 263:
        print(step, loss.item())
