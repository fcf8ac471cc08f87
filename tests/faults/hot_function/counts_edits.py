"""A model reads digit sequences; an edit distance is computed in Python after every step."""

LABEL = {
    "set": 1,
    "rule": "HotFunction",
    "culprit": "edit_distance",
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def edit_distance(left, right):
    row = list(range(len(right) + 1))
    for i, digit in enumerate(left, start=1):
        before, row[0] = row[0], i
        for j, other in enumerate(right, start=1):
            above = row[j]
            row[j] = min(above + 1, row[j - 1] + 1, before + (digit != other))
            before = above
    return row[-1]


shapes = torch.randn(10, 12)
model = nn.Sequential(nn.Linear(12, 64), nn.LayerNorm(64), nn.GELU(), nn.Linear(64, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
for step in range(250):
    digits = torch.randint(0, 10, (24, 30))
    output = model(shapes[digits] + 0.8 * torch.randn(24, 30, 12))
    loss = nn.functional.cross_entropy(output.flatten(0, 1), digits.flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if is_faulty or step % 50 == 49:
        read = output.argmax(2).tolist()
        edits = sum(map(edit_distance, read, digits.tolist())) / 24
    if step % 50 == 49:
        print(step, loss.item(), edits)
