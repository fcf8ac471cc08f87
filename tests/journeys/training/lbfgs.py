"""An optimizer that calls the model several times in a step."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
points = torch.randn(64, 4)
targets = (points**2).sum(1, keepdim=True)
model = nn.Sequential(nn.Linear(4, 12), nn.Sigmoid(), nn.Linear(12, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")
calls = 0


def closure() -> torch.Tensor:
    """Compute the loss and its gradients."""
    global calls
    calls += 1
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(points), targets)
    loss.backward()
    return loss


for step in range(8):
    print_value("loss", optimizer.step(closure))
print("calls", calls)
print_final_state(model, optimizer)
