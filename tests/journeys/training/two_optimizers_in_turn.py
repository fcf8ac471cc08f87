"""Two optimizers from the beginning; one trains for a while, then the other, then the first."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
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
        tell("loss", loss)
tell_end(model, fast, slow)
