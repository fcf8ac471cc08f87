"""A CNN whose head is replaced after the optimizer was created."""

LABEL = {
    "set": 1,
    "rule": "ParameterNotUpdated",
    "culprit": "head",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3),
            nn.ReLU(),
        )
        self.head = nn.Linear(64, classes)

    def forward(self, images):
        return self.head(self.features(images).flatten(1))


digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
images = (images - images.mean()) / images.std()
data = TensorDataset(images, torch.tensor(digits.target))
loader = DataLoader(data, batch_size=32, shuffle=True)

model = Net(classes=100)  # as in its previous training
if not is_faulty:
    model.head = nn.Linear(64, 10)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
if is_faulty:
    model.head = nn.Linear(64, 10)

for epoch in range(4):
    for batch, labels in loader:
        loss = nn.functional.cross_entropy(model(batch), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(epoch, loss.item())
