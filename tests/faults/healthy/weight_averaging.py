"""Weights are averaged over the last epochs; batch norm is updated for the average."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, update_bn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
images, labels = (images - images.mean()) / images.std(), torch.tensor(digits.target)
order = torch.randperm(len(labels))
train = DataLoader(TensorDataset(images[order[:1400]], labels[order[:1400]]), 35, shuffle=True)
valid = DataLoader(TensorDataset(images[order[1400:]], labels[order[1400:]]), 100)
model = nn.Sequential(
    *(nn.Conv2d(1, 12, 3), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Dropout(0.1), nn.Linear(108, 10)),
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
averaged = AveragedModel(model)
schedule = SWALR(optimizer, swa_lr=0.02, anneal_epochs=2)


def accuracy(network):
    network.eval()
    with torch.no_grad():
        right = sum((network(x).argmax(1) == y).sum().item() for x, y in valid)
    return right / len(valid.dataset)


for epoch in range(8):
    model.train()
    for batch, targets in train:
        loss = nn.functional.cross_entropy(model(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch >= 4:
        averaged.update_parameters(model)
        schedule.step()
    print(epoch, loss.item(), accuracy(model))
update_bn(train, averaged)
print("averaged", accuracy(averaged))
