"""Two independent trainings in spawned processes."""

import sys

import torch
import torch.multiprocessing as mp
from reporting import digest, print_value, seed_all
from torch import nn


def train(number: int, answers: "mp.SimpleQueue[tuple[int, list[float], str]]") -> None:
    """Train one of the models."""
    seed_all(number)
    model = nn.Linear(6, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for _ in range(15):
        points = torch.randn(16, 6)
        loss = (model(points) - points.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    answers.put((number, losses, digest(model.state_dict())))


if __name__ == "__main__":
    answers = mp.get_context("spawn").SimpleQueue()
    processes = mp.spawn(train, args=(answers,), nprocs=2, join=False)
    both = sorted(answers.get() for _ in range(2))
    processes.join()
    for number, losses, weights in both:
        for loss in losses:
            print_value(f"loss of {number}", loss)
        print("weights", number, weights)
    sys.exit(0)
