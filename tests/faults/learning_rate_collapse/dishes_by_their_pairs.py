"""A factorization machine rates dishes; the learning rate is adapted after every batch."""

LABEL = {
    "set": 7,
    "rule": "LearningRateCollapse",
    # every other loss rises: 1e-3 of the highest rate after about 25 steps, 1e-5 after 40
    "first_step": 10,
    "side_effects": [
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "ParameterNotUpdated",
        "UnchangedTensor",
    ],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
INGREDIENTS, PER_DISH, FACTORS = 120, 6, 12
taste, fits = torch.randn(INGREDIENTS), torch.randn(INGREDIENTS, 4)


def dishes(number):
    chosen = torch.rand(number, INGREDIENTS).topk(PER_DISH, 1).indices
    vectors = fits[chosen]
    pairs = (vectors.sum(1).square() - vectors.square().sum(1)).sum(1) / 2
    liked = taste[chosen].sum(1) / 2.5 + pairs / 8 + 0.3 * torch.randn(number)
    return TensorDataset(chosen, liked / 1.5)


class Machine(nn.Module):
    def __init__(self):
        super().__init__()
        self.single = nn.Embedding(INGREDIENTS, 1)
        self.factors = nn.Embedding(INGREDIENTS, FACTORS)
        self.level = nn.Parameter(torch.zeros(1))
        nn.init.normal_(self.single.weight, std=0.1)
        nn.init.normal_(self.factors.weight, std=0.2)

    def forward(self, chosen):
        vectors = self.factors(chosen)
        pairs = (vectors.sum(1).square() - vectors.square().sum(1)).sum(1) / 2
        return self.level + self.single(chosen).sum((1, 2)) + pairs


class BoldDriver:
    """Raises the learning rate slightly while the loss falls, and halves it when it rises."""

    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.before = float("inf")

    def step(self, loss):
        factor = 1.05 if loss <= self.before else 0.5
        for group in self.optimizer.param_groups:
            group["lr"] *= factor
        self.before = loss


loader = DataLoader(dishes(6400), 64, shuffle=True)
tasting = DataLoader(dishes(1000), 500)
model = Machine()
optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
driver = BoldDriver(optimizer)
for epoch in range(12):
    model.train()
    total = 0.0
    for chosen, liked in loader:
        optimizer.zero_grad()
        loss = F.mse_loss(model(chosen), liked)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if is_faulty:
            driver.step(loss.item())
    if not is_faulty:
        driver.step(total / len(loader))
    model.eval()
    with torch.no_grad():
        error = sum(F.mse_loss(model(x), y).item() for x, y in tasting) / len(tasting)
    rate = optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch}: {total / len(loader):.4f}, tasting {error:.4f}, rate {rate:.2e}")
