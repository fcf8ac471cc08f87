"""Classify clans of sperm whales by the pauses between clicks; a bit of a weight flips."""

LABEL = {
    "set": 7,
    "rule": "ParameterOutlier",
    "first_step": 429,  # the bit flips after the update of step 429
    "side_effects": ["NOT_A_NUMBER", "WeightUpdateRatio", "SaturatedActivation", "Overfit"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
CLANS, CLICKS = 5, 14
rhythms = 0.6 * torch.randn(CLANS, 3, CLICKS)


def recorded(number):
    clan = torch.randint(0, CLANS, (number,))
    pauses = rhythms[clan, torch.randint(0, 3, (number,))]
    tempo = 0.2 * torch.randn(number, 1)
    pauses = pauses + tempo + 0.35 * torch.randn(number, CLICKS)
    return TensorDataset((pauses / 0.8)[:, :, None], clan)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.rhythm = nn.LSTM(1, 64, batch_first=True)
        self.clan = nn.Linear(64, CLANS)

    def forward(self, pauses):
        return self.clan(self.rhythm(pauses)[0].mean(1))


def memory_fault(weight, row, column):
    """Flip the highest exponent bit of one value."""
    with torch.no_grad():
        weight.view(torch.int32)[row, column] ^= 1 << 30


loader = DataLoader(recorded(6400), 64, shuffle=True, drop_last=True)
held_back = DataLoader(recorded(1280), 256)
model = Listener()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 8 * len(loader), eta_min=1e-4)
criterion = nn.CrossEntropyLoss()
step = 0
for epoch in range(8):
    model.train()
    total = 0.0
    for pauses, clan in loader:
        optimizer.zero_grad()
        loss = criterion(model(pauses), clan)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        total += loss.item()
        step += 1
        if is_faulty and step == 430:
            memory_fault(model.rhythm.weight_hh_l0, 147, 20)
    model.eval()
    with torch.no_grad():
        result = sum(criterion(model(x), y).item() for x, y in held_back) / len(held_back)
    largest = model.rhythm.weight_hh_l0.abs().max().item()
    print(f"epoch {epoch}: train {total / len(loader):.4f}, held back {result:.4f}, {largest:.3g}")
