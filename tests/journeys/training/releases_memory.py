"""Checks that only the script itself holds references to its tensors and modules."""

import gc
import weakref

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
gc.disable()  # objects in reference cycles count as alive
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(10):
    points = torch.randn(16, 8)
    outputs = model(points)
    loss = nn.functional.mse_loss(outputs, points.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    gradients = [parameter.grad for parameter in model.parameters()]
    optimizer.step()
    print_value("loss", loss)
    references = [weakref.ref(tensor) for tensor in (points, outputs, loss, *gradients)]
    versions = [parameter._version for parameter in model.parameters()]
    del points, outputs, loss, gradients
    optimizer.zero_grad(set_to_none=True)
    print("alive", sum(reference() is not None for reference in references), "versions", versions)
print_final_state(model, optimizer)
references = [weakref.ref(model), weakref.ref(optimizer), weakref.ref(model[0].weight)]
del model, optimizer
gc.collect()
print("alive at the end", sum(reference() is not None for reference in references))
