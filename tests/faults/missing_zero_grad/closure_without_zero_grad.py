"""The step was moved into a closure for the optimizer, but zero_grad was not."""

LABEL = {
    "set": 1,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

centers = torch.randn(6, 2) * 2
model = nn.Sequential(nn.Linear(2, 40), nn.SiLU(), nn.Linear(40, 40), nn.SiLU(), nn.Linear(40, 6))
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)


def train_step(points, labels):
    def closure():
        if not is_faulty:
            optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(points), labels)
        loss.backward()
        return loss

    return optimizer.step(closure)


optimizer.zero_grad()
for step in range(300):
    labels = torch.randint(0, 6, (64,))
    loss = train_step(centers[labels] + 0.5 * torch.randn(64, 2), labels)
    if step % 50 == 49:
        print(step, loss.item())
