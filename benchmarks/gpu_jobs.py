"""Short trainings on a GPU, a healthy one and some with a fault, as people write them.

`python -m benchmarks.gpu_jobs KIND [SECONDS]`; torch alone.
"""

import sys
import time

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

KINDS = ("healthy", "starved", "small-batch", "growing-memory")

_WIDTH = 4096
_CLASSES = 10


class Points(Dataset[tuple[Tensor, Tensor]]):
    """Points in space; a slow one is as slow as decoding an image on a busy machine."""

    def __init__(self, item_seconds: float) -> None:
        self._item_seconds = item_seconds

    def __len__(self) -> int:
        return 1_000_000

    def __getitem__(self, at: int) -> tuple[Tensor, Tensor]:
        time.sleep(self._item_seconds)
        point = torch.full((_WIDTH,), (at % _CLASSES) / _CLASSES - 0.45)
        return point + 0.1 * torch.randn(_WIDTH), torch.tensor(at % _CLASSES)


def main(kind: str, seconds: float) -> None:
    """Trains."""
    torch.manual_seed(0)
    is_starved, is_small = kind == "starved", kind == "small-batch"
    width = 256 if is_small else _WIDTH
    layers = [nn.Sequential(nn.Linear(width, width), nn.ReLU()) for _ in range(16)]
    model = nn.Sequential(nn.Linear(_WIDTH, width), *layers, nn.Linear(width, _CLASSES)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    batch = 4 if is_small else 4096
    data = Points(0.0002 if is_starved else 0.0)
    loader = iter(DataLoader(data, batch_size=batch, num_workers=1 if is_starved else 0))
    points, labels = (one.cuda() for one in next(loader))
    kept: list[Tensor] = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if is_starved:
            points, labels = (one.cuda() for one in next(loader))
        optimizer.zero_grad()
        outputs = model(points)
        loss = nn.functional.cross_entropy(outputs, labels)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        if kind == "growing-memory":
            kept.append(torch.empty(32 * 1024 * 1024, device="cuda"))  # 128 MiB at every step
        if not is_small:
            torch.cuda.synchronize()
    print(float(loss.detach()))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 40.0)
