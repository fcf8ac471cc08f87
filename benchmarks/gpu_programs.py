"""Training programs on a GPU, bound by the host or by the device. Each calls `tick` per step."""

from collections.abc import Callable
from dataclasses import replace
from itertools import count

import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks.gpt2 import SMALL, Gpt2, Shape
from benchmarks.small_programs import Program, Tick

_IS_GPU = torch.cuda.is_available()
_DEVICE = "cuda" if _IS_GPU else "cpu"
_PRINTED_EVERY = 10


def _gpt(
    tick: Tick,
    *,
    batch: int = 1,
    micro_steps: int = 1,
    dtype: torch.dtype = torch.bfloat16,
    is_compiled: bool = False,
) -> None:
    """Train a language model in the style of common scripts: autocast, a scaler and clipping."""
    shape = replace(Shape(), batch=batch) if _IS_GPU else SMALL
    model = Gpt2(shape).to(_DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=_IS_GPU)
    scaler = torch.amp.GradScaler(_DEVICE, enabled=dtype is torch.float16)
    forward = torch.compile(model) if is_compiled else model
    size = (shape.batch, shape.length + 1)
    words = torch.randint(0, shape.words, size, device=_DEVICE)
    for number in count():
        for group in optimizer.param_groups:
            group["lr"] = 3e-4 / (1 + number / 1000)
        for _ in range(micro_steps):
            with torch.autocast(_DEVICE, dtype=dtype, enabled=dtype is not torch.float32):
                loss = forward(words[:, :-1], words[:, 1:]) / micro_steps
            scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        if number % _PRINTED_EVERY == 0:
            loss.item()
        if tick():
            return


def _gpt_program(**settings: int | bool | torch.dtype) -> Program:
    def train(tick: Tick) -> None:
        _gpt(tick, **settings)  # type: ignore[arg-type]

    return train


class _Block(nn.Module):
    """A residual block of convolutions."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.convolution_1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm_1 = nn.BatchNorm2d(channels)
        self.convolution_2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm_2 = nn.BatchNorm2d(channels)

    def forward(self, images: Tensor) -> Tensor:
        """Return images of the same shape."""
        hidden = functional.relu(self.norm_1(self.convolution_1(images)))
        return functional.relu(images + self.norm_2(self.convolution_2(hidden)))


def _convolutions(tick: Tick) -> None:
    """Train a residual network on small images, and read the loss at every step."""
    layers = [nn.Conv2d(3, 64, 3, padding=1), *(_Block(64) for _ in range(8))]
    model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10))
    model.to(_DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    images = torch.randn(32, 3, 32, 32, device=_DEVICE)
    labels = torch.randint(0, 10, (32,), device=_DEVICE)
    while True:
        optimizer.zero_grad()
        loss = criterion(model(images), labels)
        loss.backward()
        optimizer.step()
        loss.item()
        if tick():
            return


def _two_optimizers(tick: Tick) -> None:
    """Train a generator and a discriminator in turn."""
    generator = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 784), nn.Tanh())
    discriminator = nn.Sequential(nn.Linear(784, 512), nn.LeakyReLU(0.2), nn.Linear(512, 1))
    generator.to(_DEVICE)
    discriminator.to(_DEVICE)
    optimizers = [
        torch.optim.Adam(model.parameters(), lr=2e-4) for model in (generator, discriminator)
    ]
    criterion = nn.BCEWithLogitsLoss()
    real = torch.rand(128, 784, device=_DEVICE)
    ones, zeros = torch.ones(128, 1, device=_DEVICE), torch.zeros(128, 1, device=_DEVICE)
    while True:
        fake = generator(torch.randn(128, 64, device=_DEVICE))
        optimizers[1].zero_grad()
        real_loss = criterion(discriminator(real), ones)
        (real_loss + criterion(discriminator(fake.detach()), zeros)).backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        criterion(discriminator(fake), ones).backward()
        optimizers[0].step()
        if tick():
            return


PROGRAMS: dict[str, Callable[[Tick], None]] = {
    "gpt": _gpt_program(),
    "gpt_float16": _gpt_program(dtype=torch.float16),
    "gpt_accumulation": _gpt_program(micro_steps=4),
    "gpt_float32": _gpt_program(dtype=torch.float32),
    "gpt_compiled": _gpt_program(is_compiled=True),
    "gpt_batch_16": _gpt_program(batch=16),
    "convolutions": _convolutions,
    "two_optimizers": _two_optimizers,
}
