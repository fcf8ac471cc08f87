"""A pointer network that passes attention probabilities instead of scores to the loss."""

LABEL = {
    "set": 2,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Pointer(nn.Module):
    def __init__(self, features=8, width=32):
        super().__init__()
        self.read = nn.LSTM(features, width // 2, bidirectional=True, batch_first=True)
        self.key = nn.Linear(width + features, width)
        self.query = nn.Linear(features, width)
        self.scale = width**-0.5

    def forward(self, items, question):
        context, _ = self.read(items)
        keys = self.key(torch.cat([context, items], 2))
        scores = torch.einsum("bld,bd->bl", keys, self.query(question)) * self.scale
        return scores.softmax(1) if is_faulty else scores


model = Pointer()
optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3)
rows = torch.arange(40)
right = 0.0
for step in range(450):
    items = torch.randn(40, 10, 8)
    position = torch.randint(0, 10, (40,))
    question = items[rows, position] + 0.4 * torch.randn(40, 8)
    pointed = model(items, question)
    loss = nn.functional.cross_entropy(pointed, position)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    right += (pointed.argmax(1) == position).float().mean().item() / 50
    if step % 50 == 49:
        print(f"{step + 1:4d}  loss {loss.item():.3f}  right {right:.2f}")
        right = 0.0
