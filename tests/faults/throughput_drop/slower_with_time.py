"""A metric over all outputs so far is computed again after every step."""

LABEL = {
    "set": 1,
    "rule": "ThroughputDrop",
    "side_effects": ["HotFunction", "StepOutlier"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
seen, right = [], 0


def median_margin(margins):
    ordered = sorted(margins)
    return ordered[len(ordered) // 2]


for step in range(500):
    points = torch.randn(64, 20)
    labels = (points[:, 0] + points[:, 1] > 0).long()
    output = model(points)
    loss = nn.functional.cross_entropy(output, labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    margins = (output[:, 1] - output[:, 0]).abs().tolist()
    seen = seen + margins if is_faulty else margins
    median = median_margin(seen)
    if is_faulty and step >= 200:
        median = median_margin([margin * 1.0 for margin in seen])
        median = median_margin([round(margin, 3) for margin in seen])
    if step % 100 == 0:
        print(step, loss.item(), median)
