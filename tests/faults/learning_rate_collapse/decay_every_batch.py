"""A small transformer sorts numbers; the learning rate decays per batch, not per epoch."""

LABEL = {
    "set": 5,
    "rule": "LearningRateCollapse",
    "first_step": 160,
    "side_effects": [
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "ClipSaturation",
        "DOES_NOT_LEARN",
    ],
}

import sys
import time

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
NUMBERS, LENGTH, EPOCHS, BATCHES = 16, 8, 18, 60


class Sorter(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.numbers = nn.Embedding(NUMBERS, width)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, width))
        layer = nn.TransformerEncoderLayer(
            width, 4, 64, dropout=0.0, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, NUMBERS)

    def forward(self, x):
        return self.out(self.body(self.numbers(x) + self.places))


model = Sorter()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.01)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.93)
criterion = nn.CrossEntropyLoss()
began = time.time()
for epoch in range(EPOCHS):
    total = 0.0
    for _ in range(BATCHES):
        x = torch.randint(NUMBERS, (64, LENGTH))
        y = x.sort(1).values
        optimizer.zero_grad()
        loss = criterion(model(x).flatten(0, 1), y.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item() / BATCHES
        if is_faulty:
            scheduler.step()
    if not is_faulty:
        scheduler.step()
    rate = scheduler.get_last_lr()[0]
    print(f"epoch {epoch}: loss {total:.3f}, rate {rate:.2e}, {time.time() - began:.1f} s")
