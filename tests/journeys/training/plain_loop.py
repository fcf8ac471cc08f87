"""A perceptron on the digits, with a loop as in every introduction."""

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from telling import begin, tell, tell_end
from torch import nn

begin()
digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
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
