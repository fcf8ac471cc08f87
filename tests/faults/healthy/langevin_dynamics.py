"""Langevin dynamics: every step adds noise, and forecasts average over sampled networks."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from torch import nn
from torch.func import functional_call

torch.manual_seed(int(sys.argv[2]))
SAMPLES = 2000


class Langevin(torch.optim.Optimizer):
    def __init__(self, parameters, lr, decay=0.99, floor=1e-3):
        super().__init__(parameters, {"lr": lr, "decay": decay, "floor": floor})

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                state = self.state[weight]
                square = state.setdefault("square", weight.grad.square())
                square.mul_(group["decay"]).addcmul_(
                    weight.grad, weight.grad, value=1 - group["decay"]
                )
                scale = 1 / (square.sqrt() + group["floor"])
                noise = torch.randn_like(weight) * (2 * group["lr"] * scale / SAMPLES).sqrt()
                weight.add_(noise - group["lr"] * scale * (weight.grad + weight / SAMPLES))


def strength(mix):
    return torch.sin(2 * mix[:, :1]) + torch.cos(mix[:, 1:2] + mix[:, 2:3]) + 0.5 * mix[:, 3:4]


mixes = torch.randn(SAMPLES, 5)
strengths = strength(mixes) + 0.3 * torch.randn(SAMPLES, 1)
test_mixes = torch.randn(400, 5)
test_strengths = strength(test_mixes) + 0.3 * torch.randn(400, 1)

model = nn.Sequential(nn.Linear(5, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh(), nn.Linear(48, 1))
optimizer = Langevin(model.parameters(), lr=1e-3)
draws = []
for step in range(700):
    batch = torch.randperm(SAMPLES)[:100]
    loss = nn.functional.mse_loss(model(mixes[batch]), strengths[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step >= 400 and step % 20 == 0:
        draws.append({name: weight.detach().clone() for name, weight in model.named_parameters()})
    if step % 70 == 0:
        print(step, round(loss.item(), 4))
with torch.no_grad():
    forecasts = torch.stack([functional_call(model, draw, (test_mixes,)) for draw in draws])
print("error", nn.functional.mse_loss(forecasts.mean(dim=0), test_strengths).item())
print("spread", forecasts.std(dim=0).mean().item())
