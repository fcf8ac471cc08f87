"""Double precision by default, deterministic algorithms, and anomalies that are looked for."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
torch.use_deterministic_algorithms(True)
torch.set_default_dtype(torch.float64)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=0.01)
with torch.autograd.set_detect_anomaly(True):
    for step in range(12):
        points = torch.randn(16, 6)
        loss = nn.functional.nll_loss(model(points).log_softmax(1), (points.sum(1) > 0).long())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        tell("loss", loss)
    poisoned = torch.zeros(4, 6, requires_grad=True)
    try:
        (model(poisoned).sum() * torch.sqrt(poisoned - 1)).sum().backward()
    except RuntimeError as error:
        print("anomaly:", error)
tell_end(model, optimizer)
