"""Predict insurance claims, which are nearly always zero: the loss hardly falls."""

LABEL = {"set": 2, "rule": None}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

number = 12000
region = torch.randint(0, 22, (number,))
car = torch.randint(0, 40, (number,))
driver = torch.randn(number, 6)
exposed = torch.rand(number).clamp(min=0.05)
effect_of_region = 0.9 * torch.randn(22)
effect_of_car = 0.9 * torch.randn(40)
rate = -1.9 + effect_of_region[region] + effect_of_car[car] + 0.8 * driver[:, 0]
claims = torch.poisson(exposed * rate.exp())


class Claims(nn.Module):
    def __init__(self):
        super().__init__()
        self.region = nn.Embedding(22, 4)
        self.car = nn.Embedding(40, 6)
        self.rest = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))
        nn.init.constant_(self.rest[2].bias, -1.5)

    def forward(self, region, car, driver, exposed):
        joined = torch.cat([self.region(region), self.car(car), driver], dim=1)
        return self.rest(joined).squeeze(1) + exposed.log()


data = [region, car, driver, exposed, claims]
train = DataLoader(TensorDataset(*(part[:10000] for part in data)), 128, shuffle=True)
held_back = DataLoader(TensorDataset(*(part[10000:] for part in data)), 500)
model = Claims()
optimizer = torch.optim.Adam(model.parameters(), lr=4e-3, weight_decay=1e-5)
criterion = nn.PoissonNLLLoss(log_input=True)
for epoch in range(4):
    model.train()
    for *inputs, count in train:
        loss = criterion(model(*inputs), count)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        losses = [criterion(model(*inputs), count).item() for *inputs, count in held_back]
    print(epoch, loss.item(), sum(losses) / len(losses))
