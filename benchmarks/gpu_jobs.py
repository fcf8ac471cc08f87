"""Short training jobs on a GPU: a healthy one, and some with a fault.

`python -m benchmarks.gpu_jobs KIND [SECONDS]`; requires only torch.
"""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

KINDS = ("healthy", "starved", "small-batch", "growing-memory")

_WIDTH = 4096
_CLASSES = 10
_ITEM_SECONDS = 0.0005


class Points(Dataset[tuple[Tensor, Tensor]]):
    """Points that take as long to load as decoding small images."""

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        time.sleep(_ITEM_SECONDS)
        points, labels = draw(1, "cpu")
        return points[0], labels[0]


def draw(count: int, device: str) -> tuple[Tensor, Tensor]:
    """Draw points around the centers of their classes, some with a wrong label."""
    centers = torch.linspace(-0.5, 0.5, _CLASSES, device=device)
    labels = torch.randint(0, _CLASSES, (count,), device=device)
    points = centers[labels, None] + torch.randn(count, _WIDTH, device=device)
    is_wrong = torch.rand(count, device=device) < 0.2
    return points, torch.where(is_wrong, labels.roll(1), labels)


def main(kind: str, seconds: float) -> None:
    """Train for the given time."""
    torch.manual_seed(0)
    is_starved, is_small = kind == "starved", kind == "small-batch"
    width = 256 if is_small else _WIDTH
    layers = [
        nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU()) for _ in range(16)
    ]
    model = nn.Sequential(nn.Linear(_WIDTH, width), *layers, nn.Linear(width, _CLASSES)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = 4 if is_small else 4096
    loader = iter(DataLoader(Points(), batch_size=256, num_workers=1)) if is_starved else None
    buffers: list[Tensor] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if loader is not None:
            points, labels = (tensor.cuda() for tensor in next(loader))
        else:
            points, labels = draw(batch, "cuda")
        optimizer.zero_grad()
        outputs = model(points)
        loss = nn.functional.cross_entropy(outputs, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if kind == "growing-memory":
            buffers.append(torch.empty(32 * 1024 * 1024, device="cuda"))  # 128 MiB per step
        if not is_small:
            torch.cuda.synchronize()
    print(float(loss.detach()))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 40.0)
