"""Batches from two worker processes that draw random numbers themselves."""

import random

import numpy as np
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Noisy(Dataset):
    """Points and their distance from the origin, with noise drawn in the worker."""

    def __init__(self) -> None:
        self.points = torch.randn(96, 8)

    def __len__(self) -> int:
        return len(self.points)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        noise = torch.randn(8) * 0.01 + random.random() * 0.01 + np.random.rand() * 0.01
        return self.points[index] + noise, self.points[index].norm()


if __name__ == "__main__":
    seed_all()
    loader = DataLoader(
        Noisy(),
        batch_size=16,
        shuffle=True,
        num_workers=2,
        worker_init_fn=lambda number: (random.seed(number), np.random.seed(number)),
    )
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()
    for epoch in range(3):
        for points, distances in loader:
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(points).squeeze(1), distances)
            loss.backward()
            optimizer.step()
            print_value("loss", loss)
    print_final_state(model, optimizer)
