"""Looks at what is still alive: nobody but the script may hold on to its tensors and modules."""

import gc
import weakref

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
gc.disable()  # what lives on in a cycle counts as held
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for step in range(10):
    points = torch.randn(16, 8)
    outputs = model(points)
    loss = nn.functional.mse_loss(outputs, points.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    gradients = [one.grad for one in model.parameters()]
    optimizer.step()
    tell("loss", loss)
    kept = [weakref.ref(one) for one in (points, outputs, loss, *gradients)]
    versions = [one._version for one in model.parameters()]
    del points, outputs, loss, gradients
    optimizer.zero_grad(set_to_none=True)
    print("alive", sum(one() is not None for one in kept), "versions", versions)
tell_end(model, optimizer)
gone = [weakref.ref(model), weakref.ref(optimizer), weakref.ref(model[0].weight)]
del model, optimizer
gc.collect()
print("alive at the end", sum(one() is not None for one in gone))
