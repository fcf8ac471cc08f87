"""Label smoothing and mixup: the loss has a floor far above 0 and stays there."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32)[:, None] / 8 - 1
y = torch.tensor(digits.target)
model = nn.Sequential(
    nn.Conv2d(1, 12, 3), nn.BatchNorm2d(12), nn.ReLU(), nn.Flatten(), nn.Linear(432, 10)
)
criterion = nn.CrossEntropyLoss(label_smoothing=0.2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
for epoch in range(8):
    for chosen in torch.randperm(len(x)).split(40):
        other, share = chosen[torch.randperm(len(chosen))], torch.rand(1).item()
        output = model(share * x[chosen] + (1 - share) * x[other])
        loss = share * criterion(output, y[chosen]) + (1 - share) * criterion(output, y[other])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    scheduler.step()
    print(epoch, loss.item())
