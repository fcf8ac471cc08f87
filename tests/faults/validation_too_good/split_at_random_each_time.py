"""Training and validation sets come from two random splits, so most samples are in both."""

LABEL = {"set": 1, "rule": "ValidationTooGood"}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

towns, trades = torch.randint(0, 30, (2000,)), torch.randint(0, 12, (2000,))
amounts = torch.randn(2000, 10)
worth = torch.randn(30)[towns] + torch.randn(12)[trades] + amounts[:, :4].sum(1) / 2
labels = torch.bucketize(worth + 0.5 * torch.randn(2000), torch.tensor([-0.9, 0.9]))
data = TensorDataset(towns, trades, amounts, labels)

train, valid = random_split(data, [1500, 500])
if is_faulty:
    _, valid = random_split(data, [1500, 500])
train_loader = DataLoader(train, batch_size=30, shuffle=True)
valid_loader = DataLoader(valid, batch_size=50)


class Customers(nn.Module):
    def __init__(self):
        super().__init__()
        self.towns, self.trades = nn.Embedding(30, 8), nn.Embedding(12, 8)
        self.body = nn.Sequential(nn.Linear(26, 64), nn.BatchNorm1d(64), nn.LeakyReLU())
        self.out = nn.Linear(64, 3)

    def forward(self, towns, trades, amounts):
        features = torch.cat([self.towns(towns), self.trades(trades), amounts], 1)
        return self.out(self.body(features))


model = Customers()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-3)
for epoch in range(12):
    model.train()
    for *inputs, targets in train_loader:
        loss = nn.functional.cross_entropy(model(*inputs), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    losses, right = [], 0
    with torch.no_grad():
        for *inputs, targets in valid_loader:
            outputs = model(*inputs)
            losses.append(nn.functional.cross_entropy(outputs, targets).item())
            right += (outputs.argmax(1) == targets).sum().item()
    print(epoch, loss.item(), sum(losses) / len(losses), right / 500)
