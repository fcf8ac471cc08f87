"""A language model of the size of GPT-2 in plain torch: 163 M parameters in 149 tensors."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional


@dataclass(frozen=True)
class Shape:
    """Size of the model and of a batch."""

    layers: int = 12
    heads: int = 12
    width: int = 768
    words: int = 50_304
    length: int = 1024
    batch: int = 16


SMALL = Shape(layers=2, heads=2, width=32, words=128, length=16, batch=2)


class Layer(nn.Module):
    """Attention and a perceptron, each with layer norm and a residual connection."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.heads = shape.heads
        self.norm_1 = nn.LayerNorm(shape.width)
        self.attention = nn.Linear(shape.width, 3 * shape.width)
        self.attention_out = nn.Linear(shape.width, shape.width)
        self.norm_2 = nn.LayerNorm(shape.width)
        self.up = nn.Linear(shape.width, 4 * shape.width)
        self.down = nn.Linear(4 * shape.width, shape.width)

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        """Return states of the same shape."""
        batch, length, width = states.shape
        projections = self.attention(self.norm_1(states)).split(width, dim=2)
        query, key, value = (
            projection.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for projection in projections
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        attended = attended.transpose(1, 2).reshape(batch, length, width)
        states = states + self.attention_out(attended)
        after: torch.Tensor = states + self.down(functional.gelu(self.up(self.norm_2(states))))
        return after


class Gpt2(nn.Module):
    """Embeddings, layers, and a head with separate weights."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.words = nn.Embedding(shape.words, shape.width)
        self.positions = nn.Embedding(shape.length, shape.width)
        self.layers = nn.ModuleList(Layer(shape) for _ in range(shape.layers))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.words, bias=False)

    def forward(self, words: torch.Tensor, following: torch.Tensor) -> torch.Tensor:
        """Return the loss."""
        positions = torch.arange(words.shape[1], device=words.device)
        states = self.words(words) + self.positions(positions)
        for layer in self.layers:
            states = layer(states)
        scores = self.head(self.norm(states))
        return functional.cross_entropy(scores.flatten(0, 1), following.flatten())


class Training:
    """The model with an optimizer and one batch, on a device."""

    def __init__(self, shape: Shape, device: str, *, compiled: str | None = None) -> None:
        torch.manual_seed(7)
        self.model = Gpt2(shape).to(device)
        self._device = torch.device(device)
        self._forward = torch.compile(self.model, mode=compiled) if compiled else self.model
        is_fused = self._device.type == "cuda"
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=3e-4, fused=is_fused)
        words = torch.randint(0, shape.words, (shape.batch, shape.length + 1), device=device)
        self._words, self._following = words[:, :-1].contiguous(), words[:, 1:].contiguous()

    def backward(self) -> None:
        """Compute new gradients."""
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self._device.type, dtype=torch.bfloat16):
            loss = self._forward(self._words, self._following)
        loss.backward()

    def step(self) -> None:
        """Run one training step."""
        self.backward()
        self.optimizer.step()

    def tensors(self) -> list[torch.Tensor]:
        """Return all weights and gradients."""
        parameters = list(self.model.parameters())
        return [parameter.detach() for parameter in parameters] + [
            parameter.grad for parameter in parameters if parameter.grad is not None
        ]
