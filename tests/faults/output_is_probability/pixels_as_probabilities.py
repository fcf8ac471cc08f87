"""A small U-Net with a softmax over classes before the cross-entropy loss."""

LABEL = {
    "set": 1,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def block(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = block(1, 12)
        self.below = block(12, 24)
        self.up = nn.ConvTranspose2d(24, 12, 2, stride=2)
        self.join = block(24, 12)
        self.classes = nn.Conv2d(12, 4, 1)

    def forward(self, images):
        fine = self.down(images)
        coarse = self.up(self.below(nn.functional.max_pool2d(fine, 2)))
        scores = self.classes(self.join(torch.cat([fine, coarse], dim=1)))
        return torch.softmax(scores, dim=1) if is_faulty else scores


def draw(count):
    labels = torch.zeros(count, 20, 20, dtype=torch.long)
    for mask in labels:
        for kind in torch.randperm(3) + 1:
            top, left = torch.randint(0, 13, (2,)).tolist()
            mask[top : top + 7, left : left + 7] = kind
    images = 0.8 * labels.unsqueeze(1) - 1 + 0.5 * torch.randn(count, 1, 20, 20)
    return images, labels


model = UNet()
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for step in range(360):
    images, labels = draw(12)
    optimizer.zero_grad()
    loss = criterion(model(images), labels)
    loss.backward()
    optimizer.step()
    if step % 60 == 59:
        print(step, loss.item())
