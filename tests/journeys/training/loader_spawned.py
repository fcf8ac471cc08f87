"""Batches from a process that is spawned once, with one transformation that takes its time."""

import random
import time

import numpy as np
import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shift:
    """Moves a point by random numbers of all kinds."""

    def __call__(self, point: torch.Tensor) -> torch.Tensor:
        return point + torch.randn(8) * 0.01 + random.random() * 0.01 + np.random.rand() * 0.01


class Blur:
    """Does nothing, slowly."""

    def __call__(self, point: torch.Tensor) -> torch.Tensor:
        time.sleep(0.004)
        return point


class Points(Dataset):
    """Points and their distance from the origin."""

    def __init__(self) -> None:
        self.points = torch.randn(40, 8)
        self.transforms = [Shift(), Blur()]

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        point = self.points[index]
        for transform in self.transforms:
            point = transform(point)
        return point, point.norm()


if __name__ == "__main__":
    begin()
    loader = DataLoader(
        Points(),
        batch_size=8,
        shuffle=True,
        num_workers=1,
        persistent_workers=True,
        multiprocessing_context="spawn",
    )
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()
    for epoch in range(4):
        for points, distances in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(points).squeeze(1), distances)
            loss.backward()
            optimizer.step()
            tell("loss", loss)
            tell("batch", points.sum())
    tell_end(model, optimizer)
