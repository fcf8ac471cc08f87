"""During training, two words get vectors from a file that contains raw counts."""

LABEL = {
    "set": 1,
    "rule": "ParameterOutlier",
    "culprit": "embedding",
    "first_step": 130,
    "side_effects": ["NOT_A_NUMBER", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

WORDS = 120
meaning = torch.randn(WORDS)


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, 20)
        self.first, self.second = nn.Linear(20, 40), nn.Linear(40, 1)

    def forward(self, words):
        return self.second(torch.tanh(self.first(self.embedding(words).mean(1)))).squeeze(1)


model = Scorer()
optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
for step in range(300):
    if step == 130:
        counts = torch.randint(1000, 60000, (2, 20)).float()
        vectors = counts if is_faulty else (counts - counts.mean()) / counts.std()
        with torch.no_grad():
            model.embedding.weight[:2] = vectors
    words = torch.randint(0, WORDS, (50, 6))
    targets = torch.tanh(meaning[words].sum(1))
    loss = nn.functional.mse_loss(model(words), targets)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(step, loss.item())
