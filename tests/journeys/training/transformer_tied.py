"""A small language model whose embedding is also its last layer; two groups of parameters."""

import math

import torch
import torch.nn.functional as F
from telling import begin, tell, tell_end
from torch import nn


class Language(nn.Module):
    """A transformer that reads characters."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(32, 24)
        self.position = nn.Parameter(torch.randn(16, 24) * 0.02)
        layer = nn.TransformerEncoderLayer(
            24, 4, 48, dropout=0.1, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(24, 32, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens: torch.Tensor) -> dict[str, torch.Tensor]:
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        hidden = self.layers(self.embedding(tokens) + self.position, mask=mask, is_causal=True)
        return {"logits": self.head(hidden)}


begin()
model = Language()
weights = [one for one in model.parameters() if one.ndim > 1]
others = [one for one in model.parameters() if one.ndim <= 1]
optimizer = torch.optim.AdamW(
    [{"params": weights, "weight_decay": 0.1}, {"params": others, "weight_decay": 0, "lr": 0.001}],
    lr=0.003,
)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 5))
for step in range(16):
    start = torch.randint(32, (8, 1))
    tokens = (start + torch.arange(17) * torch.randint(1, 3, (8, 1))) % 32
    logits = model(tokens[:, :-1])["logits"]
    loss = F.cross_entropy(logits.reshape(-1, 32), tokens[:, 1:].reshape(-1))
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    tell("loss", loss)
    tell("norm", norm)
    tell("perplexity", math.exp(loss.item()))
tell_end(model, optimizer)
