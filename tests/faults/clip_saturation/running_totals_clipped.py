"""A recurrent network computes a gated leaky sum; the loss is summed but clipped like a mean."""

LABEL = {
    "set": 5,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN", "GradientNormSpike", "LossSpike"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH, BATCH = 32, 32


def series(number):
    value = torch.randn(number, LENGTH)
    counts = (torch.rand(number, LENGTH) < 0.5).float()
    total, totals = torch.zeros(number), []
    for at in range(LENGTH):
        total = 0.85 * total + value[:, at] * counts[:, at]
        totals.append(total)
    return torch.stack([value, 2 * counts - 1], 2), torch.stack(totals, 1)


class Keeper(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.GRU(2, 40, batch_first=True)
        self.out = nn.Linear(40, 1)

    def forward(self, x):
        return self.out(self.cell(x)[0]).squeeze(2)


model = Keeper()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
criterion = nn.MSELoss(reduction="sum" if is_faulty else "mean")
test_inputs, test_totals = series(500)
for step in range(700):
    inputs, totals = series(BATCH)
    loss = criterion(model(inputs), totals)
    optimizer.zero_grad()
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 70 == 0:
        model.eval()
        with torch.no_grad():
            test = nn.functional.mse_loss(model(test_inputs), test_totals).item()
        model.train()
        print(f"{step}: loss {loss.item():.4f}, norm {norm.item():.3f}, test {test:.4f}")
