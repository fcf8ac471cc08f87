"""A plain PyTorch training loop."""

from typing import Any

import torch
from torch import nn


class PlainLoop:
    """A linear model, trained step by step."""

    def __init__(self) -> None:
        self.model: Any = nn.Linear(4, 2)
        self.optimizer: Any = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, steps: int) -> None:
        """Run a number of steps."""
        for _ in range(steps):
            self.model(torch.ones(3, 4)).square().mean().backward()
            self.optimizer.step()
