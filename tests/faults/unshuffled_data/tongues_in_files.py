"""Language identification by trigrams; one file per language, not shuffled."""

LABEL = {
    "set": 7,
    "rule": "UnshuffledData",
    "side_effects": [
        "LossSpike",
        "GradientNormSpike",
        "LossDiverging",
        "LossNotDecreasing",
        "ClassImbalance",
        "Overfit",
        "Overtraining",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
TONGUES, LETTERS, LENGTH, BUCKETS = 8, 26, 30, 2000
common = torch.randn(LETTERS, LETTERS)
habits = [(common + 1.3 * torch.randn(LETTERS, LETTERS)).softmax(1) for _ in range(TONGUES)]


def file_of(tongue, lines):
    letters = [torch.randint(0, LETTERS, (lines,))]
    for _ in range(LENGTH - 1):
        letters.append(torch.multinomial(habits[tongue][letters[-1]], 1).squeeze(1))
    text = torch.stack(letters, 1)
    threes = (text[:, :-2] * 676 + text[:, 1:-1] * 26 + text[:, 2:]) * 7919 % BUCKETS
    return TensorDataset(threes, torch.full((lines,), tongue))


corpus = ConcatDataset([file_of(tongue, 800) for tongue in range(TONGUES)])
unseen = ConcatDataset([file_of(tongue, 100) for tongue in range(TONGUES)])
loader = DataLoader(corpus, batch_size=32, shuffle=not is_faulty)
checks = DataLoader(unseen, batch_size=200)
model = nn.Sequential(
    nn.EmbeddingBag(BUCKETS, 48, mode="mean"), nn.LayerNorm(48), nn.Linear(48, TONGUES)
)
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(3):
    model.train()
    total = 0.0
    for step, (threes, tongue) in enumerate(loader, 1):
        optimizer.zero_grad()
        loss = criterion(model(threes), tongue)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if step % 25 < 2:
            print(f"  epoch {epoch}, {step}: {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        result = sum(criterion(model(x), y).item() for x, y in checks) / len(checks)
    print(f"epoch {epoch}: {total / len(loader):.4f}, unseen {result:.4f}")
