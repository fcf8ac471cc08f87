"""Small training programs for a GPU, each with settings that make it slow or quick.

`python -m benchmarks.advised_gpu_training MODEL [SETTING=VALUE …]` trains for some seconds and
writes its speed, in samples per second, to the file `result`. Requires only torch. A lock file
keeps programs apart that start while another one trains: they import torch meanwhile.
"""

import fcntl
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from benchmarks.advised_models import MODELS, Advised, Size

WARM_UP_STEPS = 20  # after the windows of the profilers
_OUTPUT_LINES = 20


@dataclass(frozen=True)
class Settings:
    """What makes a program slow or quick."""

    model: str
    batch: int = 0  # 0: that of a tuned program
    precision: str = "bfloat16"  # or float64, float32, tf32
    attention: str = "fused"  # or separate
    odd_size: bool = False  # of the output layer
    compiled: str = ""  # a mode of torch.compile
    optimizer: str = "fused"  # or foreach, loop
    read_every: int = 50  # steps between values that the host reads
    reads: int = 1  # values
    masked: bool = False  # selects rows of the loss by a mask, not by weights
    pinned: bool = True
    data: str = "device"  # or memory, loader
    workers: int = 0  # of the loader
    item_ms: float = 0.0  # to load a sample
    print_every: int = 0
    checkpoint_every: int = 0
    evaluate_every: int = 0
    seconds: float = 5.0  # to measure
    is_toy: bool = False
    lock: str = ""
    result: str = ""

    @classmethod
    def parse(cls, words: list[str]) -> "Settings":
        """Read settings from the command line."""
        kinds = {field.name: field.type for field in fields(cls)}
        readers: dict[Any, Callable[[str], Any]] = {
            bool: lambda text: text == "True",
            int: int,
            float: float,
            str: str,
        }
        values = dict(word.split("=", 1) for word in words[1:])
        return cls(words[0], **{name: readers[kinds[name]](text) for name, text in values.items()})


class Items(Dataset[tuple[Tensor, ...]]):
    """Samples in memory that take a while to decode."""

    def __init__(self, samples: tuple[Tensor, ...], seconds: float) -> None:
        self._samples, self._seconds = samples, seconds

    def __len__(self) -> int:
        return 10_000_000

    def __getitem__(self, index: int) -> tuple[Tensor, ...]:
        if self._seconds:
            time.sleep(self._seconds)
        return tuple(tensor[index % len(tensor)] for tensor in self._samples)


class Program:
    """One training program."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.is_double = settings.precision == "float64"
        self._set_precision()
        torch.manual_seed(0)
        size = Size(settings.is_toy, settings.odd_size, settings.attention == "fused")
        self.advised: Advised = MODELS[settings.model](size)
        self.model = self.advised.model.to(self.device)
        if self.is_double:
            self.model = self.model.double()
        self.forward: nn.Module = self.model
        if settings.compiled:
            self.forward = torch.compile(self.model, mode=settings.compiled)  # type: ignore[assignment]
        self.optimizer = torch.optim.AdamW(
            self.model.parameters(),
            lr=1e-4,
            fused=settings.optimizer == "fused",
            foreach=None if settings.optimizer == "fused" else settings.optimizer == "foreach",
        )
        self.batch = settings.batch or self.advised.batch
        self.batches = self._batches()

    def _set_precision(self) -> None:
        torch.backends.cudnn.allow_tf32 = self.settings.precision == "tf32"
        if self.settings.precision == "tf32":
            torch.set_float32_matmul_precision("high")

    def _batches(self) -> Iterator[tuple[Tensor, ...]]:
        """Batches on the device, in host memory or from a loader."""
        samples: tuple[Tensor, ...] = self.advised.draw(self.batch)
        if self.is_double:
            samples = tuple(each.double() if each.is_floating_point() else each for each in samples)
        settings = self.settings
        if settings.data == "loader":
            items = Items(samples, settings.item_ms / 1000)
            pinned = settings.pinned and self.device.type == "cuda"
            loader = DataLoader(
                items, batch_size=self.batch, num_workers=settings.workers, pin_memory=pinned
            )
            yield from loader
        if settings.data == "device":
            samples = tuple(each.to(self.device) for each in samples)
        elif settings.pinned and self.device.type == "cuda":
            samples = tuple(each.pin_memory() for each in samples)
        while True:
            yield samples

    def train_step(self, step: int) -> None:
        """Train on one batch."""
        settings = self.settings
        loaded = next(self.batches)
        inputs, targets = (each.to(self.device, non_blocking=settings.pinned) for each in loaded)
        self.optimizer.zero_grad()
        with self._autocast():
            losses = self.advised.losses(self.forward(inputs), targets)
            loss = self._mean(losses)
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()
        if step % settings.read_every == 0:
            parameters = list(self.model.parameters())
            for number in range(settings.reads - 1):
                float(parameters[number % len(parameters)].flatten()[0].detach())
            loss.item()
        if settings.print_every and step % settings.print_every == 0:
            for line in range(_OUTPUT_LINES):
                print(step, line, inputs.flatten()[:400].tolist())
        if settings.checkpoint_every and step % settings.checkpoint_every == 0:
            torch.save({"model": self.model.state_dict()}, io.BytesIO())
        if settings.evaluate_every and step % settings.evaluate_every == 0:
            self._evaluate(inputs)

    def _mean(self, losses: Tensor) -> Tensor:
        """The mean loss of the rows whose loss is a number, as scripts guard against gaps."""
        is_valid = losses < 1e4
        if self.settings.masked:
            return losses[is_valid].mean()
        return torch.where(is_valid, losses, 0.0).sum() / is_valid.sum()

    def _evaluate(self, inputs: Tensor) -> None:
        self.model.eval()
        with torch.no_grad(), self._autocast():
            for _ in range(20):
                self.forward(inputs)
        self.model.train()

    def _autocast(self) -> AbstractContextManager[Any]:
        if self.settings.precision != "bfloat16":
            return nullcontext()
        return torch.autocast(self.device.type, dtype=torch.bfloat16)

    def synchronize(self) -> None:
        """Wait until the device has computed everything."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Wait until no other program trains."""
    if not path:
        yield
        return
    with Path(path).open("w", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)  # processes of the loader also hold the file


def main(settings: Settings) -> None:
    """Train, and measure the speed after the first steps."""
    done = 0
    if settings.compiled:  # compiling uses the host
        program = Program(settings)
        for done in range(2):
            program.train_step(done)
        program.synchronize()
    with locked(settings.lock):
        if not settings.compiled:
            program = Program(settings)
        for step in range(done, WARM_UP_STEPS):
            program.train_step(step)
        program.synchronize()
        steps, seconds = measure(program, settings)
    if settings.result:
        measured = {"samples_per_second": steps * program.batch / seconds, "steps": steps}
        Path(settings.result).write_text(json.dumps(measured), encoding="utf-8")


def measure(program: Program, settings: Settings) -> tuple[int, float]:
    """Train for the given time; return the number of steps and their time."""
    began, steps = time.perf_counter(), 0
    while time.perf_counter() - began < settings.seconds:
        steps += 1
        program.train_step(WARM_UP_STEPS + steps)
        if steps % settings.read_every == 0:
            program.synchronize()  # or the host runs ahead of the end
    program.synchronize()
    return steps, time.perf_counter() - began


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(f"usage: python -m benchmarks.advised_gpu_training MODEL; {', '.join(MODELS)}")
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "2")
    main(Settings.parse(sys.argv[1:]))
