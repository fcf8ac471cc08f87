"""Models of the programs that get advice: GPT, convolutional, U-Net, perceptron and LSTM."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention


@dataclass(frozen=True)
class Size:
    """What changes the layers of a model."""

    is_toy: bool  # for a functional test on a CPU
    is_odd: bool  # an output layer whose size is no multiple of 8
    is_fused: bool  # attention


@dataclass(frozen=True)
class Advised:
    """A model with its data."""

    model: nn.Module
    batch: int
    draw: Callable[[int], tuple[Tensor, Tensor]]
    losses: Callable[[Tensor, Tensor], Tensor]  # one per row


class Attention(nn.Module):
    """Causal attention, fused or with separate operators."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.project, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.is_fused = heads, is_fused

    def forward(self, inputs: Tensor) -> Tensor:
        """Attend to earlier positions."""
        rows, length, width = inputs.shape
        shape = (rows, length, self.heads, width // self.heads)
        query, key, value = (
            each.view(shape).transpose(1, 2) for each in self.project(inputs).chunk(3, dim=-1)
        )
        if self.is_fused:
            mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) * shape[-1] ** -0.5
            hidden = torch.ones(length, length, dtype=torch.bool, device=inputs.device).triu(1)
            mixed = scores.masked_fill(hidden, float("-inf")).softmax(dim=-1) @ value
        return self.output(mixed.transpose(1, 2).reshape(rows, length, width))  # type: ignore[no-any-return]


class Block(nn.Module):
    """A transformer layer."""

    def __init__(self, width: int, heads: int, *, is_fused: bool) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, is_fused=is_fused)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Add attention and perceptron."""
        inputs = inputs + self.attention(self.first(inputs))
        return inputs + self.perceptron(self.second(inputs))  # type: ignore[no-any-return]


class GPT(nn.Module):
    """A decoder of tokens."""

    def __init__(self, layers: int, width: int, length: int, words: int, *, is_fused: bool) -> None:
        super().__init__()
        self.tokens, self.positions = nn.Embedding(words, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(
            *[Block(width, max(1, width // 64), is_fused=is_fused) for _ in range(layers)]
        )
        self.head = nn.Linear(width, words, bias=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Predict the next token at each position."""
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        return self.head(self.blocks(self.tokens(tokens) + self.positions(positions)))  # type: ignore[no-any-return]


class LSTM(nn.Module):
    """A recurrent model of tokens."""

    def __init__(self, width: int, words: int) -> None:
        super().__init__()
        self.tokens = nn.Embedding(words, width)
        self.recurrent = nn.LSTM(width, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, words)

    def forward(self, tokens: Tensor) -> Tensor:
        """Predict the next token at each position."""
        return self.head(self.recurrent(self.tokens(tokens))[0])  # type: ignore[no-any-return]


def _convolution(inputs: int, outputs: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()
    )


class Residual(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            _convolution(channels, channels), _convolution(channels, channels)
        )

    def forward(self, inputs: Tensor) -> Tensor:
        """Add the shortcut."""
        return inputs + self.layers(inputs)  # type: ignore[no-any-return]


class UNet(nn.Module):
    """Two levels of convolutions with a shortcut, for segmentation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.down = _convolution(3, width), _convolution(width, 2 * width, 2)
        self.middle = nn.Sequential(Residual(2 * width), Residual(2 * width))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.last = nn.Sequential(Residual(2 * width), nn.Conv2d(2 * width, 8, 1))

    def forward(self, images: Tensor) -> Tensor:
        """Classify each pixel."""
        outside = self.first(images)
        inside = self.up(self.middle(self.down(outside)))
        return self.last(torch.cat((outside, inside), dim=1))  # type: ignore[no-any-return]


def _row_losses(outputs: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each position or row."""
    if outputs.dim() == 3:
        outputs, targets = outputs.flatten(0, 1), targets.flatten()
    return cross_entropy(outputs.float(), targets, reduction="none")


def _words(size: Size) -> int:
    if size.is_toy:
        return 101 if size.is_odd else 104
    return 50_257 if size.is_odd else 50_304


def _drawn_tokens(words: int, length: int) -> Callable[[int], tuple[Tensor, Tensor]]:
    def draw(batch: int) -> tuple[Tensor, Tensor]:
        tokens = torch.randint(0, words, (batch, length + 1))
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    return draw


def gpt(size: Size) -> Advised:
    """A small GPT."""
    words, length = _words(size), 16 if size.is_toy else 1024
    layers, width = (1, 64) if size.is_toy else (4, 768)
    model = GPT(layers, width, length, words, is_fused=size.is_fused)
    return Advised(model, 2 if size.is_toy else 16, _drawn_tokens(words, length), _row_losses)


def short_gpt(size: Size) -> Advised:
    """A deeper GPT with short sequences, whose kernels are short."""
    words, length = 104 if size.is_toy else 1024, 16 if size.is_toy else 64
    layers, width = (1, 64) if size.is_toy else (6, 384)
    model = GPT(layers, width, length, words, is_fused=size.is_fused)
    return Advised(model, 2 if size.is_toy else 512, _drawn_tokens(words, length), _row_losses)


def lstm(size: Size) -> Advised:
    """A recurrent model of tokens."""
    words, length, width = _words(size), 8 if size.is_toy else 64, 16 if size.is_toy else 1024
    return Advised(
        LSTM(width, words), 2 if size.is_toy else 128, _drawn_tokens(words, length), _row_losses
    )


def _drawn_images(side: int, *, is_dense: bool) -> Callable[[int], tuple[Tensor, Tensor]]:
    def draw(batch: int) -> tuple[Tensor, Tensor]:
        shape = (batch, side, side) if is_dense else (batch,)
        return torch.randn(batch, 3, side, side), torch.randint(0, 8, shape)

    return draw


def convolutional(size: Size) -> Advised:
    """A residual classifier of images."""
    width, side = (8, 8) if size.is_toy else (128, 64)
    model = nn.Sequential(
        _convolution(3, width),
        Residual(width),
        _convolution(width, 2 * width, 2),
        Residual(2 * width),
        Residual(2 * width),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(2 * width, 8),
    ).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Advised(
        model, 2 if size.is_toy else 256, _drawn_images(side, is_dense=False), _row_losses
    )


def unet(size: Size) -> Advised:
    """A segmentation of images."""
    width, side = (8, 8) if size.is_toy else (64, 128)
    model = UNet(width).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    batch = 2 if size.is_toy else 64

    def losses(outputs: Tensor, targets: Tensor) -> Tensor:
        return cross_entropy(outputs.float(), targets, reduction="none").flatten()

    return Advised(model, batch, _drawn_images(side, is_dense=True), losses)


def perceptron(size: Size) -> Advised:
    """A perceptron on rows of numbers."""
    width, inputs = (32, 16) if size.is_toy else (4096, 1024)
    model = nn.Sequential(
        nn.Linear(inputs, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 8)
    )

    def draw(batch: int) -> tuple[Tensor, Tensor]:
        return torch.randn(batch, inputs), torch.randint(0, 8, (batch,))

    return Advised(model, 16 if size.is_toy else 8192, draw, _row_losses)


def deep_perceptron(size: Size) -> Advised:
    """A deep, narrow perceptron whose kernels are short."""
    width, layers = (16, 2) if size.is_toy else (256, 24)
    model = nn.Sequential(
        *[
            nn.Sequential(nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())
            for _ in range(layers)
        ],
        nn.Linear(width, 8),
    )

    def draw(batch: int) -> tuple[Tensor, Tensor]:
        return torch.randn(batch, width), torch.randint(0, 8, (batch,))

    return Advised(model, 8 if size.is_toy else 128, draw, _row_losses)


MODELS: Mapping[str, Callable[[Size], Advised]] = {
    each.__name__: each
    for each in (gpt, short_gpt, lstm, convolutional, unet, perceptron, deep_perceptron)
}
