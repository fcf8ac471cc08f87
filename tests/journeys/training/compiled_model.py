"""A model compiled to machine code, trained with dropout."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
compiled = torch.compile(model)
optimizer = torch.optim.SGD(compiled.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
for step in range(12):
    points = torch.randn(16, 8)
    loss = criterion(compiled(points), (points[:, 0] > 0).long())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
print("graph breaks", dict(torch._dynamo.utils.counters["graph_break"]))
print("frames", dict(torch._dynamo.utils.counters["frames"]))
tell_end(model, optimizer)
