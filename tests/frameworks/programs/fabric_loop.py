"""A custom loop on Lightning Fabric, with a learning rate schedule."""

import lightning
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed_all()
fabric = lightning.Fabric(accelerator="cpu", devices=1)
fabric.launch()
points = torch.randn(100, 10)
labels = points[:, 0].gt(0).long()
train_loader = DataLoader(TensorDataset(points[:64], labels[:64]), batch_size=16)
val_loader = DataLoader(TensorDataset(points[64:], labels[64:]), batch_size=16)
network = nn.Sequential(nn.Linear(10, 16), nn.ReLU(), nn.Linear(16, 2))
model, optimizer = fabric.setup(network, torch.optim.Adadelta(network.parameters(), lr=1.0))
train_loader, val_loader = fabric.setup_dataloaders(train_loader, val_loader)
schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.7)
for _ in range(3):
    model.train()
    for batch, target in train_loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), target)
        fabric.backward(loss)
        optimizer.step()
        print_value("loss", loss)
    schedule.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for batch, target in val_loader:
            total += nn.functional.cross_entropy(model(batch), target, reduction="sum").item()
    print_value("validation", total / 36)
print_final_state(network)
