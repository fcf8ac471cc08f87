"""Battery age from discharge curves, evaluated on its own laboratory and another one."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
POINTS, EPOCHS = 40, 14


def discharge(number, warmer=0.0, noise=0.12):
    """Return discharge curves and ages; old and cold cells discharge earlier."""
    age = torch.rand(number, 1)
    heat = 0.3 * torch.randn(number, 1) + warmer
    time = torch.linspace(0, 1, POINTS)
    end = 1.05 - 0.45 * age + 0.08 * heat
    voltage = 1 - 0.3 * time - torch.sigmoid(14 * (time - end)) - 0.08 * age * time
    voltage = voltage + noise * torch.randn(number, POINTS)
    curve = (voltage - 0.6) / 0.35
    return torch.stack([curve, heat.expand(-1, POINTS)], 1), (age.squeeze(1) - 0.5) / 0.29


train = DataLoader(TensorDataset(*discharge(2400)), 48, shuffle=True)
positions = {
    "home": DataLoader(TensorDataset(*discharge(500)), 100),
    "abroad": DataLoader(TensorDataset(*discharge(500, warmer=0.7, noise=0.2)), 100),
}
model = nn.Sequential(
    *(nn.Conv1d(2, 16, 5, padding=2), nn.GroupNorm(4, 16), nn.GELU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(16, 24, 5, padding=2), nn.GroupNorm(4, 24), nn.GELU(), nn.AdaptiveAvgPool1d(5)),
    *(nn.Flatten(), nn.Linear(120, 1)),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * len(train), eta_min=1e-5)
criterion = nn.MSELoss()
for epoch in range(EPOCHS):
    model.train()
    total = 0.0
    for curve, age in train:
        loss = criterion(model(curve).squeeze(1), age)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.item() / len(train)
    model.eval()
    results = []
    with torch.no_grad():
        for place, loader in positions.items():
            off = sum(criterion(model(curve).squeeze(1), age).item() for curve, age in loader)
            results.append(f"{place} {off / len(loader):.4f}")
    print(f"epoch {epoch}: {total:.4f}, {', '.join(results)}")
