"""Train a small convolutional network on handwritten digits on a CPU, with four loader processes.

Try: sonde run --profile operators:start_step=60,num_steps=5 -- python examples/cnn_on_cpu.py
"""

import argparse

import numpy as np
import torch
from sklearn.datasets import load_digits  # type: ignore[import-untyped]
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

LOADERS = 4
BATCH = 32
HELD_OUT = 360


class Digits(Dataset[tuple[Tensor, int]]):
    """Images of 8 by 8 pixels; training images are shifted randomly."""

    def __init__(self, images: np.ndarray, labels: np.ndarray, *, is_augmented: bool) -> None:
        self.images = images
        self.labels = labels
        self.is_augmented = is_augmented

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        image = torch.tensor(self.images[index], dtype=torch.float32)[None] / 16
        if self.is_augmented:
            rows, columns = torch.randint(-1, 2, (2,)).tolist()
            image = torch.roll(image, (rows, columns), (1, 2)) + 0.1 * torch.randn(image.shape)
        return image, int(self.labels[index])


class Network(nn.Module):
    """Two convolutions and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        )
        self.head = nn.Linear(32 * 2 * 2, 10)

    def forward(self, images: Tensor) -> Tensor:
        """Return a score for each digit."""
        scores: Tensor = self.head(self.body(images).flatten(1))
        return scores


def loaders() -> tuple[DataLoader[tuple[Tensor, int]], DataLoader[tuple[Tensor, int]]]:
    """Return loaders for training and for testing."""
    images, labels = load_digits(return_X_y=True)
    images = images.reshape(-1, 8, 8)
    train_set = Digits(images[HELD_OUT:], labels[HELD_OUT:], is_augmented=True)
    test_set = Digits(images[:HELD_OUT], labels[:HELD_OUT], is_augmented=False)
    return (
        DataLoader(train_set, BATCH, shuffle=True, num_workers=LOADERS, drop_last=True),
        DataLoader(test_set, BATCH),
    )


def accuracy(model: nn.Module, test_loader: DataLoader[tuple[Tensor, int]]) -> float:
    """Return the share of test images that are classified correctly."""
    model.eval()
    correct = 0
    with torch.no_grad():
        for images, labels in test_loader:
            correct += int((model(images).argmax(1) == labels).sum())
    return correct / HELD_OUT


def train(steps: int) -> None:
    """Train for a number of steps, with a test after each epoch."""
    torch.manual_seed(0)
    train_loader, test_loader = loaders()
    model = Network()
    loss_function = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    done = 0
    while done < steps:
        model.train()
        for images, labels in train_loader:
            optimizer.zero_grad()
            loss_function(model(images), labels).backward()
            optimizer.step()
            done += 1
            if done == steps:
                break
        print(f"step {done}: {accuracy(model, test_loader):.1%} correct")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=2111)
    train(parser.parse_args().steps)
