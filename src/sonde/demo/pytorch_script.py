"""A small classifier with four planted faults."""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

STEPS_PER_SECOND = 12
BATCH = 64
RATE = 0.05


class Points(Dataset[tuple[Tensor, Tensor]]):
    """Points around eight centers; some are slow to load."""

    def __init__(self, count: int) -> None:
        centers = torch.randn(8, 64)
        self.labels = torch.randint(0, 8, (count,))
        self.points = centers[self.labels] + 2 * torch.randn(count, 64)
        self.slow = range(count // 4, count * 45 // 100)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        if index in self.slow:
            time.sleep(0.004)  # third fault: a batch takes 0.25 s
        return self.points[index], self.labels[index]


class Classifier(nn.Module):
    """Two hidden layers, a parallel third one, and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            *(nn.Linear(64, 768), nn.ReLU()),
            *(nn.Linear(768, 768), nn.ReLU()),
        )
        self.parallel = nn.Linear(768, 768)
        self.relu = nn.ReLU()
        self.head = nn.Linear(768, 8)
        # first fault: a dead layer whose units always output zero
        nn.init.constant_(self.parallel.bias, -30.0)

    def forward(self, points: Tensor) -> Tensor:
        """A score for each center."""
        hidden = self.body(points)
        scores: Tensor = self.head(hidden + self.relu(self.parallel(hidden)))
        return scores


def train(seconds: float) -> None:
    """Train for about that many seconds; on a slow machine, up to a minute longer."""
    torch.manual_seed(7)
    steps = int(seconds * STEPS_PER_SECOND)
    high_rates = range(steps * 55 // 100, steps * 58 // 100)
    loader = DataLoader(Points(steps * BATCH), batch_size=BATCH)
    model = Classifier()
    loss_function = nn.CrossEntropyLoss()
    # second fault: the head is not in the optimizer
    optimizer = torch.optim.SGD([*model.body.parameters(), *model.parallel.parameters()], lr=RATE)
    end = time.monotonic() + seconds + 60
    for step, (points, labels) in enumerate(loader):
        if time.monotonic() > end:
            break
        # fourth fault: a learning rate spike
        optimizer.param_groups[0]["lr"] = 40 * RATE if step in high_rates else RATE
        optimizer.zero_grad()
        loss = loss_function(model(points), labels)
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:4d}  loss {loss.item():.4f}", flush=True)
    print("done", flush=True)


if __name__ == "__main__":
    train(float(sys.argv[1]) if len(sys.argv) > 1 else 35.0)
