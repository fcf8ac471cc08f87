"""A model with large embeddings is saved every other step: a third of the loop's time."""

LABEL = {
    "set": "calibration",
    "rule": "SlowCheckpoints",
    "side_effects": ["StepOutlier"],
}

import os
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, KINDS = 8000, 6
topics = torch.randn(WORDS, KINDS)
folder = Path(tempfile.mkdtemp())


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.EmbeddingBag(WORDS, 64)
        self.think = nn.Sequential(*(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, KINDS)))

    def forward(self, texts):
        return self.think(self.words(texts))


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(300):
    texts = (WORDS * torch.rand(64, 20) ** 4).long()
    labels = topics[texts].sum(dim=1).argmax(dim=1)
    loss = nn.functional.cross_entropy(model(texts), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % (2 if is_faulty else 150) == 1:
        with (folder / "last.pt").open("wb") as file:
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
            file.flush()
            os.fsync(file.fileno())
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.3f}")
