"""A perceptron on noisy pictures of ten shapes, with a loop as in every introduction."""

import torch
import torch.nn.functional as F
from telling import begin, tell, tell_end
from torch import nn

begin()
shapes = torch.rand(10, 64)
labels = torch.randint(10, (1000,))
images = (shapes[labels] + 0.3 * torch.randn(1000, 64)).clamp(0, 1)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

for step in range(40):
    batch = torch.randint(len(images), (64,))
    loss = F.cross_entropy(model(images[batch]), labels[batch])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    tell("loss", loss)
tell_end(model, optimizer)
