"""Twenty sigmoid layers: gradients vanish before the first ones."""

LABEL = {
    "set": 1,
    "rule": "VanishingGradient",
    "culprit": "0.weight",
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

depth = 20 if is_faulty else 3
layers = [nn.Linear(16, 24)]
for _ in range(depth - 1):
    layers += [nn.Sigmoid() if is_faulty else nn.Tanh(), nn.Linear(24, 24)]
model = nn.Sequential(*layers, nn.Linear(24, 3))

points = torch.randn(3000, 16)
labels = (points @ torch.randn(16, 3)).argmax(1)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(300):
    chosen = torch.randint(0, 3000, (32,))
    loss = nn.functional.cross_entropy(model(points[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
