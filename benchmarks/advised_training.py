"""Small training programs, each with one knob that makes it slow or quick.

`python advised_training.py PROGRAM KNOB` trains with one setting. With two settings, it alternates
between them in one process, so that other work on the machine slows both, and prints the time of
each.
"""

import io
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

STEPS = 200
BLOCK = 80
WIDE = 1024
ROWS = 64


class Rows(Dataset[tuple[torch.Tensor, torch.Tensor]]):
    """Samples that take a while to read, as from a disk."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if self.seconds:
            time.sleep(self.seconds)
        generator = torch.Generator().manual_seed(index)
        row = torch.randn(64, generator=generator)
        return row, row.sum().sign().long().clamp(min=0)


def batches(
    dtype: torch.dtype = torch.float32, width: int = 64, size: int = ROWS
) -> Iterator[tuple[torch.Tensor, ...]]:
    """Random batches that cost nothing."""
    rows = torch.randn(size, width, dtype=dtype)
    labels = torch.randint(0, 2, (size,))
    while True:
        yield rows, labels


def train(
    data: Iterator[tuple[torch.Tensor, ...]],
    steps: int,
    after_step: Callable[[nn.Module, int, float], None],
    dtype: torch.dtype = torch.float32,
    width: int = 64,
) -> None:
    """Train a perceptron, and call a function after each step."""
    model = nn.Sequential(
        nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 2)
    ).to(dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    loss_function = nn.CrossEntropyLoss()
    for step in range(steps):
        rows, labels = next(data)
        optimizer.zero_grad()
        loss = loss_function(model(rows), labels)
        loss.backward()
        optimizer.step()
        after_step(model, step, loss.item())


def nothing(model: nn.Module, step: int, loss: float) -> None:
    """Do nothing after a step."""


def printing(every: int, steps: int) -> None:
    """Print long lines at every Nth step."""

    def after(_model: nn.Module, step: int, loss: float) -> None:
        if step % every == 0:
            for row in range(20):
                print(step, row, torch.full((12, 12), loss), file=OUTPUT)

    train(batches(), steps, after)


def checkpoints(every: int, steps: int) -> None:
    """Save a checkpoint at every Nth step."""
    ballast = torch.zeros(16_000_000)

    def after(model: nn.Module, step: int, _loss: float) -> None:
        if step % every == every - 1:
            torch.save({"model": model.state_dict(), "ballast": ballast}, io.BytesIO())

    train(batches(width=WIDE), steps, after, width=WIDE)


def evaluation(every: int, steps: int) -> None:
    """Evaluate on 192 batches at every Nth step; hooks time each step of more than 10 ms."""
    rows = TensorDataset(torch.randn(192 * ROWS, WIDE))
    loader = DataLoader(rows, batch_size=ROWS)

    def after(model: nn.Module, step: int, _loss: float) -> None:
        if step % every == every - 1:
            model.eval()
            with torch.no_grad():
                for (batch,) in loader:
                    model(batch).argmax(1)
            model.train()

    train(batches(width=WIDE, size=16 * ROWS), steps, after, width=WIDE)


def loading(processes: int, steps: int) -> None:
    """Read samples that wait, with a number of loader processes."""
    data = iter(DataLoader(Rows(0.0005), batch_size=ROWS, num_workers=processes))

    def after(_model: nn.Module, _step: int, _loss: float) -> None:
        time.sleep(0.01)  # a step that uses no core, as on a device

    train(data, steps, after)


def precision(bits: int, steps: int) -> None:
    """Train in float64 or float32."""
    dtype = {64: torch.float64, 32: torch.float32}[bits]
    train(batches(dtype, WIDE), steps, nothing, dtype, WIDE)


def optimizer(is_fused: int, steps: int) -> None:
    """Train a deep model with AdamW, one parameter after the other or fused."""
    model = nn.Sequential(*[nn.Linear(256, 256) for _ in range(12)])
    adam = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=bool(is_fused))
    rows = torch.randn(16, 256)
    for _ in range(steps):
        adam.zero_grad()
        model(rows).square().mean().backward()
        adam.step()


PROGRAMS: dict[str, Callable[[int, int], None]] = {
    program.__name__: program
    for program in (printing, checkpoints, evaluation, loading, precision, optimizer)
}
OUTPUT = Path(os.devnull).open("w")  # noqa: SIM115


def main() -> None:
    """Train once, or alternate between two settings."""
    torch.set_num_threads(1)
    name, *knobs = sys.argv[1:]
    if len(knobs) == 1:
        PROGRAMS[name](int(knobs[0]), STEPS)
        return
    # programs that wait for nothing are measured in CPU time: the machine may be busy
    clock = time.perf_counter if name == "loading" else time.process_time
    seconds = dict.fromkeys(knobs, 0.0)
    PROGRAMS[name](int(knobs[0]), BLOCK // 4)  # warms up
    for knob in knobs * 2:
        began = clock()
        PROGRAMS[name](int(knob), BLOCK)
        seconds[knob] += clock() - began
    sys.stdout.write(" ".join(map(str, seconds.values())))


if __name__ == "__main__":
    main()
