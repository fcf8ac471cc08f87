"""The smallest weights are pruned in rounds until 10% are left, with training in between."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.utils import prune
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(int(sys.argv[2]))

CUT = {4: 0.5, 6: 0.75, 8: 0.85, 10: 0.9}  # pruned share by starting epoch
digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
targets = torch.tensor(digits.target)
train = DataLoader(TensorDataset(images[:1400], targets[:1400]), batch_size=35, shuffle=True)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 24, 3, padding=1)
        self.hidden = nn.Linear(384, 96)
        self.out = nn.Linear(96, 10)

    def forward(self, images):
        features = torch.relu(self.conv1(images))
        features = nn.functional.max_pool2d(torch.relu(self.conv2(features)), 2)
        return self.out(torch.relu(self.hidden(features.flatten(1))))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
layers = [(model.conv2, "weight"), (model.hidden, "weight")]
masks = {}
for epoch in range(12):
    if epoch in CUT:
        prune.global_unstructured(layers, prune.L1Unstructured, amount=CUT[epoch])
        masks = {layer: layer.weight_mask.clone() for layer, _ in layers}
        for layer, name in layers:
            prune.remove(layer, name)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for batch, labels in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(batch), labels)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for layer, mask in masks.items():
                layer.weight.mul_(mask)
    with torch.no_grad():
        right = (model(images[1400:]).argmax(1) == targets[1400:]).float().mean()
        left = (model.hidden.weight != 0).float().mean()
    print(epoch, loss.item(), right.item(), left.item())
