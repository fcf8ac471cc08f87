"""A convolutional autoencoder with a custom Adam that lacks the square root."""

LABEL = {
    "set": 2,
    "rule": "WeightUpdateRatio",
    "side_effects": [
        "STARTS_BADLY",
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "DeadRelu",
        "ParameterOutlier",
        "VanishingGradient",
        "UnchangedTensor",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class OwnAdam(torch.optim.Optimizer):
    def __init__(self, parameters, lr=1e-3, betas=(0.9, 0.999), eps=1e-8):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            first, second = group["betas"]
            for weight in group["params"]:
                state = self.state[weight]
                if not state:
                    state["step"] = 0
                    state["mean"] = torch.zeros_like(weight)
                    state["square"] = torch.zeros_like(weight)
                state["step"] += 1
                state["mean"].lerp_(weight.grad, 1 - first)
                state["square"].lerp_(weight.grad**2, 1 - second)
                mean = state["mean"] / (1 - first ** state["step"])
                square = state["square"] / (1 - second ** state["step"])
                spread = square if is_faulty else square.sqrt()
                weight.sub_(group["lr"] * mean / (spread + group["eps"]))


def blobs(count):
    positions = torch.arange(12.0)
    center = 3 + 6 * torch.rand(count, 2)
    width = 1 + torch.rand(count, 1)
    down = torch.exp(-((positions - center[:, :1]) ** 2) / (2 * width**2))
    across = torch.exp(-((positions - center[:, 1:]) ** 2) / (2 * width**2))
    return 2 * (down[:, :, None] * across[:, None]).unsqueeze(1) - 0.4


model = nn.Sequential(
    *(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU()),
    *(nn.Flatten(), nn.Linear(288, 8), nn.Linear(8, 288), nn.SiLU()),
    *(nn.Unflatten(1, (8, 6, 6)), nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)),
)
optimizer = OwnAdam(model.parameters(), lr=2e-3)
for step in range(300):
    pictures = blobs(32)
    loss = nn.functional.mse_loss(model(pictures), pictures)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step + 1, loss.item())
