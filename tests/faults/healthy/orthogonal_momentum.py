"""Digits with Muon: orthogonalized momentum for matrices, AdamW for the rest."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 8 - 1
dataset = TensorDataset(images, torch.tensor(digits.target))
loader = DataLoader(dataset, batch_size=48, shuffle=True)


def orthogonal(matrix, rounds=5):
    is_tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if is_tall else matrix
    x = x / (x.norm() + 1e-7)
    for _ in range(rounds):
        square = x @ x.T
        x = 3.4445 * x + (-4.775 * square + 2.0315 * square @ square) @ x
    return x.T if is_tall else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr=0.02, momentum=0.95):
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None if closure is None else closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                buffer = self.state[parameter].setdefault("buffer", torch.zeros_like(parameter))
                buffer.lerp_(parameter.grad, 1 - group["momentum"])
                ahead = parameter.grad.lerp(buffer, group["momentum"])
                scale = max(1.0, parameter.shape[0] / parameter.shape[1]) ** 0.5
                parameter.add_(orthogonal(ahead), alpha=-group["lr"] * scale)
        return loss


model = nn.Sequential(
    *(nn.Linear(64, 96), nn.LayerNorm(96), nn.GELU(), nn.Dropout(0.1)),
    *(nn.Linear(96, 96), nn.LayerNorm(96), nn.GELU(), nn.Dropout(0.1)),
    nn.Linear(96, 10),
)
matrices = [model[0].weight, model[4].weight]
others = [p for p in model.parameters() if all(p is not matrix for matrix in matrices)]
optimizers = [Muon(matrices, lr=0.01), torch.optim.AdamW(others, lr=1e-3)]
schedulers = [torch.optim.lr_scheduler.LinearLR(o, 1.0, 0.05, 300) for o in optimizers]
for epoch in range(8):
    total = 0.0
    for image, digit in loader:
        loss = nn.functional.cross_entropy(model(image), digit, label_smoothing=0.05)
        loss.backward()
        for optimizer, scheduler in zip(optimizers, schedulers, strict=True):
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            scheduler.step()
        total += loss.item()
    print(epoch, total / len(loader))
