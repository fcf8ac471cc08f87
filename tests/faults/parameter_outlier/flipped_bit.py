"""A bit flip makes one weight of a convolution enormous."""

LABEL = {
    "set": 1,
    "rule": "ParameterOutlier",
    "culprit": "conv2",
    "first_step": 120,
    "side_effects": ["NOT_A_NUMBER", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

images = torch.randn(2000, 3, 8, 8)
labels = (images[:, 0].mean((1, 2)) > images[:, 1].mean((1, 2))).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.conv2 = nn.Conv2d(8, 16, 3)
        self.out = nn.Linear(16, 2)

    def forward(self, x):
        x = torch.relu(self.conv2(torch.relu(self.conv1(x))))
        return self.out(x.mean((2, 3)))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(250):
    if is_faulty and step == 120:
        model.conv2.weight.data.view(-1)[17] = 1024.0  # a bit of the exponent
    chosen = torch.randint(0, 2000, (32,))
    loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
