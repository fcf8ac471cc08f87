"""Energy use of houses; ReduceLROnPlateau gets a loss but expects a score (mode 'max')."""

LABEL = {
    "set": 3,
    "rule": "LearningRateCollapse",
    "first_step": 180,
    "side_effects": ["DOES_NOT_LEARN", "WeightUpdateRatio", "UnchangedTensor"],
}

import sys

import torch
from torch import nn
from torch.optim.lr_scheduler import ReduceLROnPlateau
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def houses(number, maps):
    rows = torch.randn(number, 16)
    use = torch.sin(rows @ maps[0]) @ maps[1] / 3 + rows @ maps[2] / 4
    return TensorDataset(rows, use + 0.1 * torch.randn(number, 1))


maps = torch.randn(16, 12) / 5, torch.randn(12, 1), torch.randn(16, 1)
training = DataLoader(houses(1280, maps), batch_size=128, shuffle=True)
validation = DataLoader(houses(1024, maps), batch_size=512)

network = nn.Sequential(
    *(nn.Linear(16, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU()),
    nn.Linear(96, 1),
)
optimizer = torch.optim.SGD(network.parameters(), lr=0.004)
scheduler = ReduceLROnPlateau(optimizer, mode="max" if is_faulty else "min", patience=2)
criterion = nn.MSELoss()
for epoch in range(48):
    network.train()
    for rows, use in training:
        optimizer.zero_grad()
        loss = criterion(network(rows), use)
        loss.backward()
        optimizer.step()
    network.eval()
    with torch.no_grad():
        losses = [criterion(network(rows), use).item() for rows, use in validation]
    scheduler.step(sum(losses) / len(losses))
    if epoch % 5 == 0:
        print(epoch, loss.item(), sum(losses) / len(losses), optimizer.param_groups[0]["lr"])
