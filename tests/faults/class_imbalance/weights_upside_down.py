"""A weighted sampler gets class frequencies instead of their inverses."""

LABEL = {"set": 1, "rule": "ClassImbalance"}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, WeightedRandomSampler

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

labels = torch.cat([torch.full((count,), kind) for kind, count in enumerate((1000, 450, 180))])
times = torch.arange(20).view(1, -1, 1)
speeds = (0.25 + 0.2 * labels).view(-1, 1, 1) + 0.03 * torch.randn(len(labels), 1, 1)
waves = torch.sin(times * speeds + 6.28 * torch.rand(len(labels), 1, 6))
waves += 0.5 * torch.randn(waves.shape)

counts = labels.bincount().float()
weights = counts[labels] if is_faulty else 1 / counts[labels]
sampler = WeightedRandomSampler(weights.tolist(), num_samples=1280)
loader = DataLoader(TensorDataset(waves, labels), batch_size=32, sampler=sampler)


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 40, batch_first=True)
        self.out = nn.Linear(40, 3)

    def forward(self, waves):
        return self.out(self.gru(waves)[1][-1])


model = Listener()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for epoch in range(15):
    seen = torch.zeros(3)
    for batch, targets in loader:
        loss = nn.functional.cross_entropy(model(batch), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen += targets.bincount(minlength=3)
    print(epoch, loss.item(), seen.tolist())
