"""A line through points: two parameters, and a loss that reaches 0 and stays there."""

LABEL = {"set": 1, "rule": None}

import sys

import torch

torch.manual_seed(int(sys.argv[2]))

x = torch.rand(200, 1) * 2 - 1
y = 3 * x + 0.5
model = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(400):
    loss = torch.nn.functional.mse_loss(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model.weight.item(), model.bias.item())
