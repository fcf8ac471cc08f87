"""An unbounded cache of image crops at random positions, which never hits."""

LABEL = {"set": 1, "rule": "HostMemoryLeak"}

import sys
from functools import lru_cache

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

pictures = torch.randn(60, 3, 128, 128)
is_bright = torch.rand(60) < 0.5
pictures[is_bright] += 0.15


@lru_cache(maxsize=None if is_faulty else 16)
def crop(index, top, left):
    return pictures[index, :, top : top + 48, left : left + 48].clone()


model = nn.Sequential(
    nn.AvgPool2d(4), nn.Conv2d(3, 12, 3), nn.ReLU(), nn.Flatten(), nn.Linear(12 * 10 * 10, 1)
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(1500):
    chosen = torch.randint(0, 60, (8,)).tolist()
    positions = torch.randint(0, 80, (8, 2)).tolist()
    batch = torch.stack(
        [crop(number, *position) for number, position in zip(chosen, positions, strict=True)]
    )
    targets = is_bright[chosen].float()
    loss = nn.functional.binary_cross_entropy_with_logits(model(batch).squeeze(1), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 300 == 299:
        print(step, loss.item(), crop.cache_info().currsize)
