"""Classify galaxies by their light profiles; a learning rate decay is applied per batch."""

LABEL = {
    "set": 6,
    "rule": "LearningRateCollapse",
    "first_step": 55,  # 0.88 to the power of 55 is a thousandth, to the power of 91 is 1e-5
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
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
RINGS, SHAPES = 40, 6


def survey(number, blur):
    shape = torch.randint(0, SHAPES, (number,))
    radius = torch.linspace(0.05, 1, RINGS)[None, :]
    steep = (1 + 0.5 * shape[:, None]) * torch.exp(0.08 * torch.randn(number, 1))
    profile = torch.exp(-steep * radius) + 0.25 * torch.cos(3 * shape[:, None] * radius)
    profile = profile + blur * torch.randn(number, RINGS)
    return TensorDataset((profile - 0.35) / 0.35, shape)


loader = DataLoader(survey(8000, 0.4), 160, shuffle=True)
tests = {name: DataLoader(survey(600, blur), 200) for name, blur in (("near", 0.4), ("far", 0.5))}
model = nn.Sequential(
    *(nn.Linear(RINGS, 96), nn.LayerNorm(96), nn.ReLU()),
    *(nn.Linear(96, 96), nn.LayerNorm(96), nn.ReLU()),
    nn.Linear(96, SHAPES),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-3)
schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.88)
criterion = nn.CrossEntropyLoss()
for epoch in range(14):
    model.train()
    total = 0.0
    for profile, shape in loader:
        optimizer.zero_grad()
        loss = criterion(model(profile), shape)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if is_faulty:
            schedule.step()
    if not is_faulty:
        schedule.step()
    model.eval()
    results = {}
    with torch.no_grad():
        for name, test in tests.items():
            results[name] = sum(criterion(model(x), y).item() for x, y in test) / len(test)
    summary = ", ".join(f"{name} {result:.3f}" for name, result in results.items())
    print(f"epoch {epoch}: train {total / len(loader):.3f}, {summary}")
