"""Image segmentation; the loss gets the softmax of predict() instead of scores."""

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


class Segmenter(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(2, 16, 3, stride=2, padding=1)
        self.up = nn.ConvTranspose2d(16, 12, 4, stride=2, padding=1)
        self.out = nn.Conv2d(14, 3, 1)

    def forward(self, images):
        fine = torch.relu(self.up(torch.relu(self.down(images))))
        return self.out(torch.cat([images, fine], dim=1))

    def predict(self, images):
        return self(images).softmax(dim=1)


def draw():
    images = torch.randn(12, 2, 16, 16)
    images = nn.functional.avg_pool2d(images, 3, stride=1, padding=1) * 3
    return images, (images[:, 0] > 0).long() + (images[:, 1] > 0.5).long()


model = Segmenter()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
for step in range(250):
    images, classes = draw()
    optimizer.zero_grad()
    output = model.predict(images) if is_faulty else model(images)
    loss = nn.functional.cross_entropy(output, classes)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
