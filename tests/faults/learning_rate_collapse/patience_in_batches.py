"""ReduceLROnPlateau with a patience in epochs is stepped with the loss of every batch."""

LABEL = {
    "set": 1,
    "rule": "LearningRateCollapse",
    "side_effects": ["WeightUpdateRatio", "UnchangedTensor", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

points = torch.rand(2400, 3) * 2 - 1
heights = torch.sin(3 * points[:, 0]) + points[:, 1] * points[:, 2] + 0.1 * torch.randn(2400)
train = DataLoader(TensorDataset(points[:2000], heights[:2000]), batch_size=25, shuffle=True)
model = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.1, patience=3, eps=0)
for epoch in range(6):
    model.train()
    for batch, targets in train:
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch).squeeze(1), targets)
        loss.backward()
        optimizer.step()
        if is_faulty:
            scheduler.step(loss)
    model.eval()
    with torch.no_grad():
        validation = nn.functional.mse_loss(model(points[2000:]).squeeze(1), heights[2000:])
    if not is_faulty:
        scheduler.step(validation)
    print(epoch, loss.item(), validation.item(), optimizer.param_groups[0]["lr"])
