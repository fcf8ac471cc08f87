"""Small models with data, as in a training script; intended for one thread."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

_BATCHES = 16
_CLASSES = 10
_WORDS = 512

Batches = DataLoader[tuple[torch.Tensor, ...]]


@dataclass(frozen=True)
class Training:
    """Everything a training loop needs."""

    model: nn.Module
    loss: nn.Module
    optimizer: torch.optim.Optimizer
    batches: Batches


def prepare(name: str) -> Training:
    """Create a model by name, always with the same weights and data."""
    torch.manual_seed(7)
    model, batches = MODELS[name]()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return Training(model, nn.CrossEntropyLoss(), optimizer, batches)


def one_step(training: Training, inputs: torch.Tensor, labels: torch.Tensor) -> None:
    """Run forward, backward and the optimizer."""
    training.optimizer.zero_grad()
    outputs = training.model(inputs)
    loss = training.loss(outputs.flatten(0, -2), labels.flatten())
    loss.backward()
    training.optimizer.step()


class _Block(nn.Module):
    """Two convolutions with a residual connection."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.relu = nn.ReLU()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return images of the same shape."""
        inner = self.relu(self.bn1(self.conv1(images)))
        outer: torch.Tensor = self.relu(images + self.bn2(self.conv2(inner)))
        return outer


class _Transformer(nn.Module):
    """A language model with three layers."""

    def __init__(self, width: int, length: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(_WORDS, width)
        self.position = nn.Parameter(torch.zeros(length, width))
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 3, enable_nested_tensor=False)
        self.head = nn.Linear(width, _WORDS)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        """Return scores of each next word."""
        scores: torch.Tensor = self.head(self.encoder(self.embedding(words) + self.position))
        return scores


def _loader(inputs: torch.Tensor, labels: torch.Tensor) -> Batches:
    return DataLoader(TensorDataset(inputs, labels), batch_size=len(inputs) // _BATCHES)


def _perceptron(batch: int, width: int, depth: int) -> tuple[nn.Module, Batches]:
    sizes = (784, *([width] * depth))
    layers: list[nn.Module] = []
    for ins, outs in pairwise(sizes):
        layers += [nn.Linear(ins, outs), nn.ReLU()]
    model = nn.Sequential(*layers, nn.Linear(width, _CLASSES))
    rows = _BATCHES * batch
    return model, _loader(torch.randn(rows, 784), torch.randint(0, _CLASSES, (rows,)))


def _convolutions() -> tuple[nn.Module, Batches]:
    width = 32
    model = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        *(_Block(width) for _ in range(4)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, _CLASSES),
    )
    rows = _BATCHES * 4
    return model, _loader(torch.randn(rows, 3, 32, 32), torch.randint(0, _CLASSES, (rows,)))


def _language() -> tuple[nn.Module, Batches]:
    length = 64
    words = torch.randint(0, _WORDS, (_BATCHES * 8, length + 1))
    return _Transformer(128, length), _loader(words[:, :-1], words[:, 1:])


MODELS: dict[str, Callable[[], tuple[nn.Module, Batches]]] = {
    "perceptron": lambda: _perceptron(batch=128, width=768, depth=3),
    "convolutions": _convolutions,
    "transformer": _language,
    "tiny": lambda: _perceptron(batch=8, width=32, depth=1),
}
