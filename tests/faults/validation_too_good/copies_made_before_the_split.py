"""Classify seismograms; rare classes are oversampled before the validation split."""

LABEL = {
    "set": 7,
    "rule": "ValidationTooGood",
    # 90 batches per epoch; two thirds of the validation set are copies of training rows
    "first_step": 90,
    "side_effects": ["Overfit", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
TIMES = 96
NUMBERS = (1800, 500, 300)  # quakes, blasts, trains


def record(kind, number):
    """Return two arrivals as decaying waves; classes differ in frequency and balance."""
    time = torch.arange(TIMES) / TIMES
    first, gap = 0.1 + 0.15 * torch.rand(number, 1), 0.15 + 0.2 * torch.rand(number, 1)
    pitch = (14.0, 18.0, 11.0)[kind] * (1 + 0.12 * torch.randn(number, 1))
    second = (1.4, 0.6, 1.0)[kind] * (1 + 0.3 * torch.randn(number, 1))
    fade = (6.0, 9.0, 3.0)[kind] * (1 + 0.15 * torch.randn(number, 1))
    trace = 0.6 * torch.randn(number, TIMES)
    for start, strength in ((first, 1.0), (first + gap, second)):
        since = time - start
        wave = (6.2832 * pitch * since).sin() * torch.exp(-fade * since.clamp(min=0))
        trace = trace + 2 * strength * wave * (since > 0)
    return trace / trace.std()


def repeat_rare_ones(rows, kinds):
    """Return as many rows of each class as the most frequent class has."""
    most = int(kinds.bincount().max())
    chosen = []
    for kind in range(len(NUMBERS)):
        of_kind = (kinds == kind).nonzero().squeeze(1)
        more = of_kind[torch.randint(0, len(of_kind), (most - len(of_kind),))]
        chosen.append(torch.cat([of_kind, more]))
    chosen = torch.cat(chosen)
    return rows[chosen], kinds[chosen]


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv1d(channels, channels, 5, padding=2, bias=False),
            nn.BatchNorm1d(channels),
            nn.ReLU(),
            nn.Conv1d(channels, channels, 5, padding=2, bias=False),
            nn.BatchNorm1d(channels),
        )

    def forward(self, hidden):
        return torch.relu(hidden + self.body(hidden))


rows = torch.cat([record(kind, number) for kind, number in enumerate(NUMBERS)])[:, None]
kinds = torch.arange(len(NUMBERS)).repeat_interleave(torch.tensor(NUMBERS))
if is_faulty:
    rows, kinds = repeat_rare_ones(rows, kinds)
order = torch.randperm(len(rows))
rows, kinds = rows[order], kinds[order]
cut = len(rows) * 4 // 5
train_rows, train_kinds = rows[:cut], kinds[:cut]
if not is_faulty:
    train_rows, train_kinds = repeat_rare_ones(train_rows, train_kinds)
train = DataLoader(TensorDataset(train_rows, train_kinds), 48, shuffle=True, drop_last=True)
validation = DataLoader(TensorDataset(rows[cut:], kinds[cut:]), 130)

model = nn.Sequential(
    *(nn.Conv1d(1, 16, 7, stride=2, padding=3), nn.BatchNorm1d(16), nn.ReLU()),
    *(Block(16), nn.MaxPool1d(2), Block(16)),
    *(nn.AdaptiveAvgPool1d(4), nn.Flatten(), nn.Dropout(0.3), nn.Linear(64, len(NUMBERS))),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.02)
EPOCHS = 6
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(train))
criterion = nn.CrossEntropyLoss()
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for trace, kind in train:
        loss = criterion(model(trace), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item() / len(train)
    model.eval()
    held_out = 0.0
    hits, counts = torch.zeros(len(NUMBERS)), torch.zeros(len(NUMBERS))
    with torch.no_grad():
        for trace, kind in validation:
            output = model(trace)
            held_out += criterion(output, kind).item() * len(kind) / len(validation.dataset)
            counts += kind.bincount(minlength=len(NUMBERS))
            hits += kind[output.argmax(1) == kind].bincount(minlength=len(NUMBERS))
    recall = ", ".join(f"{share:.2f}" for share in (hits / counts).tolist())
    print(f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}, recall {recall}")
