"""Double precision by default, deterministic algorithms and anomaly detection."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
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
        print_value("loss", loss)
    poisoned = torch.zeros(4, 6, requires_grad=True)
    try:
        (model(poisoned).sum() * torch.sqrt(poisoned - 1)).sum().backward()
    except RuntimeError as error:
        print("anomaly:", error)
print_final_state(model, optimizer)
