"""Two optimizers that take turns: the first one, the second one, and the first one again."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 3))
fast = torch.optim.Adam(model.parameters(), lr=0.01)
slow = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)

for optimizer in (fast, slow, fast):
    for _ in range(20):
        points = torch.randn(16, 6)
        loss = nn.functional.cross_entropy(model(points), points[:, :3].argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print_value("loss", loss)
print_final_state(model, fast, slow)
