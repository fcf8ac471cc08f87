"""A perceptron on noisy images of ten shapes, with a textbook training loop."""

import torch
import torch.nn.functional as F
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
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
    print_value("loss", loss)
print_final_state(model, optimizer)
