"""A CNN; a function that should set biases fills all parameters with the same value."""

LABEL = {
    "set": 1,
    "rule": "SymmetricUnits",
    "culprit": "conv",
    "first_step": 1,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
labels = torch.tensor(digits.target)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3)
        self.conv2 = nn.Conv2d(12, 24, 3)
        self.out = nn.Linear(96, 10)

    def forward(self, x):
        x = nn.functional.leaky_relu(self.conv1(x))
        x = nn.functional.max_pool2d(nn.functional.leaky_relu(self.conv2(x)), 2)
        return self.out(x.flatten(1))


def fill(module):
    for name, parameter in module.named_parameters(recurse=False):
        if is_faulty or name == "bias":
            nn.init.constant_(parameter, 0.02)


model = Net()
model.apply(fill)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(300):
    chosen = torch.randint(0, len(labels), (48,))
    loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        right = (model(images[chosen]).argmax(1) == labels[chosen]).float().mean()
        print(step, loss.item(), right.item())
