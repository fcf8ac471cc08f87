"""Species and age of fish from otolith profiles; one head is in no optimizer group."""

LABEL = {
    "set": 7,
    "rule": "ParameterNotUpdated",
    "culprit": "years",
    "max_delay_steps": 8,
    "alternatives": ["UnchangedTensor"],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
PIXELS, KINDS = 80, 4


def stones(number):
    kind = torch.randint(0, KINDS, (number,))
    age = 2 + 8 * torch.rand(number)
    across = torch.linspace(0, 1, PIXELS)
    rings = torch.cos(6.28 * age[:, None] * across)
    shade = torch.exp(-3 * ((across - 0.2 * (kind[:, None] + 1)) ** 2) / 0.1)
    profile = rings + 1.5 * shade + 0.6 * torch.randn(number, PIXELS)
    return TensorDataset((profile[:, None] - 0.5) / 1.1, kind, (age - 6) / 2.3)


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            *(nn.Conv1d(1, 16, 7, 2, 3), nn.BatchNorm1d(16), nn.ReLU()),
            *(nn.Conv1d(16, 32, 7, 2, 3), nn.BatchNorm1d(32), nn.ReLU()),
            *(nn.Conv1d(32, 32, 5, 2, 2), nn.BatchNorm1d(32), nn.ReLU()),
            nn.Flatten(),
        )
        self.kind = nn.Linear(320, KINDS)
        self.years = nn.Linear(320, 1)

    def forward(self, profile):
        features = self.trunk(profile)
        return self.kind(features), self.years(features).squeeze(1)


def losses(model, batch):
    profile, kind, age = batch
    scores, years = model(profile)
    return F.cross_entropy(scores, kind), F.mse_loss(years, age)


loader = DataLoader(stones(5000), 50, shuffle=True)
held_back = DataLoader(stones(1000), 250)
model = Reader()
groups = [
    {"params": model.trunk.parameters(), "lr": 5e-4},
    {"params": model.kind.parameters(), "lr": 5e-4},
]
if not is_faulty:
    groups.append({"params": model.years.parameters(), "lr": 5e-4})
optimizer = torch.optim.AdamW(groups, weight_decay=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, [group["lr"] for group in groups], total_steps=5 * len(loader)
)
for epoch in range(5):
    model.train()
    total = torch.zeros(2)
    for batch in loader:
        model.zero_grad()
        kind_loss, age_loss = losses(model, batch)
        (kind_loss + age_loss).backward()
        optimizer.step()
        schedule.step()
        total += torch.tensor([kind_loss.item(), age_loss.item()])
    model.eval()
    with torch.no_grad():
        unseen = torch.tensor([[loss.item() for loss in losses(model, b)] for b in held_back]).mean(
            0
        )
    print(f"epoch {epoch}: train {(total / len(loader)).tolist()}, validation {unseen.tolist()}")
