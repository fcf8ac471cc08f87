"""A plain CNN whose initialization counts the pixels of a kernel, but not the channels."""

LABEL = {
    "set": 1,
    "rule": "PoorWeightInitialization",
    "side_effects": ["STARTS_BADLY"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def initialize(module):
    if isinstance(module, nn.Conv2d):
        fan = module.kernel_size[0] * module.kernel_size[1]
        if not is_faulty:
            fan *= module.in_channels
        nn.init.normal_(module.weight, std=(2 / fan) ** 0.5)
        nn.init.zeros_(module.bias)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        layers = []
        for inputs in (1, 24, 24, 24, 24):
            layers += [nn.Conv2d(inputs, 24, 3, padding=1), nn.ReLU()]
        self.layers = nn.Sequential(*layers)
        self.out = nn.Linear(24, 10)
        self.apply(initialize)

    def forward(self, images):
        return self.out(self.layers(images).mean((2, 3)))


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
images = (images - images.mean()) / images.std()
data = TensorDataset(images, torch.tensor(digits.target))
loader = DataLoader(data, batch_size=36, shuffle=True)
model = Deep()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(7):
    for step, (batch, labels) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(epoch, step, loss.item())
