"""Land use from satellite tiles; the list of the hardest tiles grows without limit."""

LABEL = {
    "set": 5,
    "rule": "ThroughputDrop",
    "first_step": 200,
    "side_effects": ["HotFunction", "HostMemoryLeak", "StepOutlier", "CPUContention"],
}

import sys
from collections import deque

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIDE, USES = 16, 5

patterns = torch.randn(USES, 4, SIDE, SIDE)


def tiles(number):
    use = torch.randint(USES, (number,))
    shift = torch.randint(SIDE, (number,))
    clean = torch.stack([patterns[u].roll(int(s), 2) for u, s in zip(use, shift, strict=True)])
    return (clean + 1.2 * torch.randn(number, 4, SIDE, SIDE)) / 1.56, use


model = nn.Sequential(
    *(nn.Conv2d(4, 24, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(24, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2)),
    *(nn.Flatten(), nn.Linear(128, USES)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(reduction="none")
loader = DataLoader(TensorDataset(*tiles(8000)), 40, shuffle=True)
seen = [] if is_faulty else deque(maxlen=800)


def hardest(number):
    return sorted(seen, key=lambda tile: (-tile["loss"], tile["use"]))[:number]


step = 0
for epoch in range(4):
    for image, use in loader:
        each = criterion(model(image), use)
        loss = each.mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        for value, label in zip(each.tolist(), use.tolist(), strict=True):
            seen.append({"loss": value, "use": label, "epoch": epoch})
        worst = hardest(20)
        if step % 100 == 0:
            print(f"{step}: loss {loss.item():.3f}, hardest {worst[0]['loss']:.2f}")
