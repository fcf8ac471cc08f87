"""A compiled model, trained with dropout."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
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
    print_value("loss", loss)
print("graph breaks", dict(torch._dynamo.utils.counters["graph_break"]))
print("frames", dict(torch._dynamo.utils.counters["frames"]))
print_final_state(model, optimizer)
