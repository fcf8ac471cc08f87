"""A confusion matrix is computed in pure Python after every step."""

LABEL = {
    "set": 1,
    "rule": "HotFunction",
    "culprit": "count_confusions",
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def count_confusions(predicted, labels):
    matrix = [[0] * 10 for _ in range(10)]
    for row in range(10):
        for column in range(10):
            for one, other in zip(predicted.tolist(), labels.tolist(), strict=True):
                matrix[row][column] += one == row and other == column
    return matrix


digits = load_digits()
x = torch.tensor(digits.data, dtype=torch.float32) / 16 - 0.3
y = torch.tensor(digits.target)
loader = DataLoader(TensorDataset(x, y), batch_size=512, shuffle=True)
model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)

for epoch in range(24):
    for batch, labels in loader:
        optimizer.zero_grad()
        output = model(batch)
        loss = nn.functional.cross_entropy(output, labels)
        loss.backward()
        optimizer.step()
        if is_faulty:
            matrix = count_confusions(output.argmax(1), labels)
    if epoch % 4 == 3:
        print(epoch, loss.item())
