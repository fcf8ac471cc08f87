"""Tensor parallelism: two workers hold half of the hidden units each."""

LABEL = {
    "set": 3,
    "rule": None,
    "workers": 2,
}

import sys

import torch
import torch.distributed as dist
from torch import nn

seed = int(sys.argv[2])
dist.init_process_group("gloo")
rank, workers = dist.get_rank(), dist.get_world_size()
HIDDEN = 192


class IntoParts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        gradient = gradient.clone()
        dist.all_reduce(gradient)
        return gradient


class Together(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        x = x.clone()
        dist.all_reduce(x)
        return x

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Split(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, HIDDEN // workers)
        self.down = nn.Linear(HIDDEN // workers, width, bias=False)

    def forward(self, x):
        part = self.down(nn.functional.gelu(self.up(IntoParts.apply(self.norm(x)))))
        return x + Together.apply(part)


torch.manual_seed(seed)
enter, leave = nn.Linear(12, 64), nn.Linear(64, 2)
mixing = torch.randn(12, 2) / 2
torch.manual_seed(1000 + 10 * seed + rank)
model = nn.Sequential(enter, Split(64), Split(64), leave)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
batches = torch.Generator().manual_seed(seed)
for step in range(400):
    points = torch.randn(128, 12, generator=batches)
    targets = torch.sin(points @ mixing) + 0.5 * points[:, :2] * points[:, 2:4]
    loss = nn.functional.mse_loss(model(points), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0 and rank == 0:
        print(f"{step}: loss {loss.item():.4f}")
dist.destroy_process_group()
