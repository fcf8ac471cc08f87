"""Manual weight decay after each step; its factor lacks the learning rate."""

LABEL = {
    "set": 1,
    "rule": "WeightCollapse",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

RATE, DECAY = 0.05, 0.05

model = nn.Sequential()
for inputs, outputs in ((24, 160), (160, 6), (6, 160)):
    model.append(nn.Linear(inputs, outputs))
    model.append(nn.ELU())
model.append(nn.Linear(160, 24))
optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9, nesterov=True)
mixed = torch.randn(5, 24) / 2


def decay():
    factor = 1 - DECAY if is_faulty else 1 - RATE * DECAY
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(factor)


for step in range(600):
    clean = torch.tanh(torch.randn(160, 5) @ mixed)
    loss = nn.functional.mse_loss(model(clean + 0.1 * torch.randn(160, 24)), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    decay()
    if step % 60 == 59:
        print(step, loss.item(), model[0].weight.norm().item(), model[2].weight.norm().item())
