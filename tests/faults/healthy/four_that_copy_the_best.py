"""Population-based training: of four networks, the worst copies the best."""

LABEL = {"set": 7, "rule": None}

import copy
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
SETTINGS, BATCH, ROUNDS, STEPS = 10, 64, 8, 60
directions = torch.randn(SETTINGS, 5) / SETTINGS**0.5


def bulbs(number):
    setting = torch.randn(number, SETTINGS)
    bright = torch.sin(1.4 * setting @ directions).sum(1, keepdim=True) / 1.5
    return setting, bright + 0.1 * torch.randn(number, 1)


class Member:
    def __init__(self, rate):
        self.model = nn.Sequential(
            *(nn.Linear(SETTINGS, 96), nn.SiLU()),
            *(nn.Linear(96, 96), nn.SiLU()),
            nn.Linear(96, 1),
        )
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate)
        self.result = float("inf")

    def train(self):
        self.model.train()
        for _ in range(STEPS):
            rows = torch.randint(0, len(setting), (BATCH,))
            self.optimizer.zero_grad()
            loss = F.mse_loss(self.model(setting[rows]), bright[rows])
            loss.backward()
            self.optimizer.step()

    def judge(self):
        self.model.eval()
        with torch.no_grad():
            self.result = F.mse_loss(self.model(new_setting), new_bright).item()

    def copy_from(self, other, factor):
        self.model.load_state_dict(copy.deepcopy(other.model.state_dict()))
        self.optimizer.load_state_dict(copy.deepcopy(other.optimizer.state_dict()))
        for group in self.optimizer.param_groups:
            group["lr"] *= factor

    @property
    def rate(self):
        return self.optimizer.param_groups[0]["lr"]


setting, bright = bulbs(20_000)
new_setting, new_bright = bulbs(1000)
members = [Member(rate) for rate in (2e-4, 6e-4, 2e-3, 6e-3)]
for turn in range(ROUNDS):
    for member in members:
        member.train()
        member.judge()
    members.sort(key=lambda member: member.result)
    told = ", ".join(f"{member.result:.4f} at {member.rate:.1e}" for member in members)
    print(f"round {turn}: {told}")
    if turn < ROUNDS - 1:
        members[-1].copy_from(members[0], 1.25 if torch.rand(1) < 0.5 else 0.8)
