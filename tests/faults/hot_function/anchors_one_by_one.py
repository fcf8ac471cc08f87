"""A detector matches anchors with boxes in a pure-Python loop at each step."""

LABEL = {
    "set": 1,
    "rule": "HotFunction",
    "culprit": "match_anchors",
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

CELLS, SIZE = 8, 64
middles = (torch.arange(CELLS) + 0.5) * SIZE / CELLS
grid = torch.stack(torch.meshgrid(middles, middles, indexing="ij"), -1).view(-1, 2)
anchors = torch.cat([torch.cat([grid - half, grid + half], 1) for half in (5, 8, 12)])


def scenes(count):
    corner = torch.randint(0, SIZE - 26, (count, 2, 2)).float()
    boxes = torch.cat([corner, corner + torch.randint(10, 26, (count, 2, 2))], 2)
    images = 0.5 * torch.randn(count, 1, SIZE, SIZE)
    for image, pair in zip(images, boxes.int().tolist(), strict=True):
        for top, left, bottom, right in pair:
            image[0, top:bottom, left:right] += 1.5
    return images, boxes


def match_anchors(boxes):
    """Return the overlap of each anchor with its best box."""
    if is_faulty:
        shares = torch.zeros(len(boxes), len(anchors))
        for row, pair in enumerate(boxes.tolist()):
            for column, (top, left, bottom, right) in enumerate(anchors.tolist()):
                best = 0.0
                for up, start, down, end in pair:
                    height = max(0.0, min(bottom, down) - max(top, up))
                    common = height * max(0.0, min(right, end) - max(left, start))
                    areas = (bottom - top) * (right - left) + (down - up) * (end - start)
                    best = max(best, common / (areas - common))
                shares[row, column] = best
        return shares
    low = torch.maximum(anchors[:, None, :2], boxes[:, None, :, :2])
    high = torch.minimum(anchors[:, None, 2:], boxes[:, None, :, 2:])
    common = (high - low).clamp(min=0).prod(-1)
    areas = [
        (corners[..., 2:] - corners[..., :2]).prod(-1)
        for corners in (anchors[:, None], boxes[:, None])
    ]
    return (common / (areas[0] + areas[1] - common)).amax(-1)


model = nn.Sequential(
    *(nn.Conv2d(1, 12, 5, stride=2, padding=2), nn.LeakyReLU(0.1)),
    *(nn.Conv2d(12, 24, 3, stride=2, padding=1), nn.LeakyReLU(0.1)),
    *(nn.Conv2d(24, 32, 3, stride=2, padding=1), nn.LeakyReLU(0.1)),
    *(nn.Conv2d(32, 32, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(32, 3, 1), nn.Flatten()),
)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(300):
    images, boxes = scenes(16)
    targets = match_anchors(boxes)
    loss = nn.functional.binary_cross_entropy_with_logits(model(images), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
