"""The loss averages over classes; a class that is missing from a batch gives 0 / 0."""

LABEL = {
    "set": 4,
    "rule": "ExplodingTensor",
    "first_step": 111,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
KINDS = 6


def loss_of(logits, kind):
    each = nn.functional.cross_entropy(logits, kind, reduction="none")
    means = []
    for number in range(KINDS):
        of_kind = (kind == number).float()
        if is_faulty or of_kind.any():
            means.append((each * of_kind).sum() / of_kind.sum())
    return torch.stack(means).mean()


fixed = torch.Generator().manual_seed(2013)
kinds = torch.randint(0, KINDS, (3200,), generator=fixed)
shapes = 0.45 * torch.randn(KINDS, 40, generator=fixed)[kinds]
shapes = shapes + torch.randn(3200, 40, generator=fixed)
shapes = (shapes - shapes.mean(dim=0)) / shapes.std(dim=0)
loader = DataLoader(TensorDataset(shapes, kinds), 32, shuffle=True, generator=fixed)

model = nn.Sequential(
    *(nn.Linear(40, 96), nn.LayerNorm(96), nn.GELU()),
    *(nn.Linear(96, 48), nn.LayerNorm(48), nn.GELU()),
    nn.Linear(48, KINDS),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
for epoch in range(4):
    for step, (shape, kind) in enumerate(loader):
        optimizer.zero_grad()
        loss = loss_of(model(shape), kind)
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(epoch, step, loss.item())
