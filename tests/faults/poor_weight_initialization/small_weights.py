"""A deep ReLU CNN with initial weights of deviation 0.001: signals fade layer by layer."""

LABEL = {
    "set": 1,
    "rule": "PoorWeightInitialization",
    "alternatives": ["VanishingGradient"],
    "side_effects": ["DOES_NOT_LEARN", "WeightUpdateRatio", "UnchangedTensor", "DeadRelu"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

layers, channels = [], 1
for _ in range(5):
    layers += [nn.Conv2d(channels, 12, 3, padding=1), nn.ReLU()]
    channels = 12
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 3))
for module in model.modules():
    if isinstance(module, nn.Conv2d):
        if is_faulty:
            nn.init.normal_(module.weight, std=0.001)
        else:
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)

kinds = torch.randint(0, 3, (1500,))
images = torch.randn(1500, 1, 8, 8) * (1.0 + kinds.view(-1, 1, 1, 1)) / 2
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
for step in range(250):
    chosen = torch.randint(0, 1500, (32,))
    loss = nn.functional.cross_entropy(model(images[chosen]), kinds[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
