"""Batches from a spawned loader process, with one slow transformation."""

import random
import time

import numpy as np
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Shift:
    """Shifts a point by random numbers from all generators."""

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
    seed_all()
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
            print_value("loss", loss)
            print_value("batch", points.sum())
    print_final_state(model, optimizer)
