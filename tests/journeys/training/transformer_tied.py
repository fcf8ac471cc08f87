"""A small language model with tied embeddings and two parameter groups."""

import math

import torch
import torch.nn.functional as F
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Language(nn.Module):
    """A character-level transformer."""

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


seed_all()
model = Language()
weights = [parameter for parameter in model.parameters() if parameter.ndim > 1]
others = [parameter for parameter in model.parameters() if parameter.ndim <= 1]
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
    print_value("loss", loss)
    print_value("norm", norm)
    print_value("perplexity", math.exp(loss.item()))
print_final_state(model, optimizer)
