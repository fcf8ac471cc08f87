"""Registers its own hooks everywhere; they must see the same as without Sonde."""

import sys
import threading

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.optim.optimizer import register_optimizer_step_post_hook

calls: dict[str, int] = {}


def counting(name: str):
    """Return a hook that only counts its calls."""

    def hook(*options: object) -> None:
        calls[name] = calls.get(name, 0) + 1

    return hook


def train() -> None:
    """Train in a thread other than the main thread."""
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
    model.register_forward_pre_hook(counting("before forward"))
    model[1].register_forward_hook(lambda module, options, output: output * 1.5)
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
        print_value("loss", loss)
    print("hooks", calls)
    print_final_state(model, optimizer)


seed_all()
sys.setrecursionlimit(300)
thread = threading.Thread(target=train)
thread.start()
thread.join()
