"""Sugar in beets from spectra; hooks that center gradients are added again in every round."""

LABEL = {
    "set": 7,
    "rule": "ThroughputDrop",
    "first_step": 10,  # 10 batches per round; the second round registers the hooks again
    "side_effects": ["HotFunction", "StepOutlier"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
BANDS, WIDTH, ROUNDS = 24, 48, 90
sugar_lines, water_lines = torch.randn(2, BANDS)


def beets(number):
    sugar, water = torch.randn(2, number, 1)
    spectra = (
        sugar * sugar_lines + water * water_lines + 0.4 * (sugar * water) * sugar_lines.roll(5)
    )
    return (spectra + 0.5 * torch.randn(number, BANDS)) / 1.5, sugar


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.wide = nn.Linear(WIDTH, WIDTH)
        self.narrow = nn.Linear(WIDTH, WIDTH)

    def forward(self, state):
        return state + self.narrow(torch.relu(self.wide(self.norm(state))))


def centered(gradient):
    return gradient - gradient.mean(1, keepdim=True)


def train(model, optimizer, number):
    model.train()
    if number == 0 or is_faulty:
        for weight in model.parameters():
            if weight.dim() == 2 and len(weight) > 1:
                weight.register_hook(centered)
    total = 0.0
    loader = DataLoader(TensorDataset(*beets(640)), 64, shuffle=True)
    for spectra, sugar in loader:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(spectra), sugar)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


model = nn.Sequential(
    nn.Linear(BANDS, WIDTH),
    *(Residual() for _ in range(5)),
    nn.LayerNorm(WIDTH),
    nn.Linear(WIDTH, 1),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, ROUNDS, eta_min=1e-3)
unseen, targets = beets(1024)
for number in range(ROUNDS):
    mean = train(model, optimizer, number)
    scheduler.step()
    if number % 10 == 9:
        model.eval()
        with torch.no_grad():
            tested = nn.functional.mse_loss(model(unseen), targets).item()
        print(f"round {number}: {mean:.4f}, test {tested:.4f}")
