"""Hooks of the script's own on everything that takes hooks; they see what they would see alone."""

import sys
import threading

import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

seen: dict[str, int] = {}


def counting(name: str):
    """A hook that counts its calls and changes nothing."""

    def hook(*options: object) -> None:
        seen[name] = seen.get(name, 0) + 1

    return hook


def train() -> None:
    """All in a thread that is not the first."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model.register_forward_pre_hook(counting("before forward"))
    model[1].register_forward_hook(lambda module, options, made: made * 1.5)
    model[2].register_full_backward_hook(counting("backward"))
    model[0].weight.register_hook(lambda gradient: gradient * 0.5)
    nn.modules.module.register_module_forward_hook(counting("any forward"))
    register_optimizer_step_post_hook(counting("any step"))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    optimizer.register_step_pre_hook(counting("before step"))
    for _ in range(12):
        points = torch.randn(16, 8)
        outputs = model(points)
        outputs.register_hook(counting("output"))
        loss = (outputs - points.sum(1, keepdim=True)).abs().mean()
        optimizer.zero_grad()
        torch.autograd.backward([loss, outputs.mean() * 0.1])
        optimizer.step()
        tell("loss", loss)
    print("hooks", seen)
    tell_end(model, optimizer)


begin()
sys.setrecursionlimit(300)
thread = threading.Thread(target=train)
thread.start()
thread.join()
