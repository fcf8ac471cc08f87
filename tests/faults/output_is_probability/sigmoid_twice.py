"""A CNN that separates small digits from large ones; the loss applies the sigmoid again."""

LABEL = {
    "set": 1,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = (torch.tensor(digits.images, dtype=torch.float32)[:, None] - 5) / 6
is_large = torch.tensor(digits.target >= 5).float()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 12, 3)
        self.conv2 = nn.Conv2d(12, 24, 3, stride=2)
        self.fc = nn.Linear(96, 1)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.relu(self.conv2(x))
        x = self.fc(x.flatten(1)).squeeze(1)
        return torch.sigmoid(x) if is_faulty else x


net = Net()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for epoch in range(5):
    for chosen in torch.randperm(len(images)).split(32):
        optimizer.zero_grad()
        loss = F.binary_cross_entropy_with_logits(net(images[chosen]), is_large[chosen])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
