"""An MLP that ends in a softmax, followed by a loss that applies it again."""

LABEL = {
    "set": 1,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
points = torch.tensor(digits.data, dtype=torch.float32)
points = (points - points.mean()) / points.std()
loader = DataLoader(TensorDataset(points, torch.tensor(digits.target)), batch_size=64, shuffle=True)

layers = [nn.Linear(64, 48), nn.Tanh(), nn.Linear(48, 10)]
if is_faulty:
    layers.append(nn.Softmax(dim=1))
model = nn.Sequential(*layers)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(8):
    right = 0
    for batch, labels in loader:
        output = model(batch)
        loss = criterion(output, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        right += (output.argmax(1) == labels).sum().item()
    print(f"epoch {epoch}: loss {loss.item():.3f}, accuracy {right / len(points):.3f}")
