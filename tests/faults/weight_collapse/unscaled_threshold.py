"""Soft thresholding of weights after every step, not scaled by the learning rate."""

LABEL = {
    "set": 4,
    "rule": "WeightCollapse",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "DeadRelu",
        "SymmetricUnits",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "WeightUpdateRatio",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
RATE, SPARSITY = 0.02, 6e-3

pixels, digits = load_digits(return_X_y=True)
images = torch.tensor(pixels, dtype=torch.float32)
images = (images - images.mean()) / images.std()
dataset = TensorDataset(images, torch.tensor(digits))
loader = DataLoader(dataset, 64, shuffle=True, drop_last=True)


class Proximal(torch.optim.SGD):
    def __init__(self, parameters, lr, sparsity):
        super().__init__(parameters, lr=lr, momentum=0.9)
        self.sparsity = sparsity

    @torch.no_grad()
    def step(self, closure=None):
        loss = super().step(closure)
        for group in self.param_groups:
            threshold = self.sparsity if is_faulty else self.sparsity * group["lr"]
            for weight in group["params"]:
                if weight.dim() > 1:
                    weight.copy_(nn.functional.softshrink(weight, threshold))
        return loss


model = nn.Sequential(
    *(nn.Linear(64, 128), nn.ReLU()),
    *(nn.Linear(128, 64), nn.ReLU()),
    nn.Linear(64, 10),
)
optimizer = Proximal(model.parameters(), lr=RATE, sparsity=SPARSITY)
criterion = nn.CrossEntropyLoss()
for epoch in range(14):
    total = 0.0
    for image, digit in loader:
        optimizer.zero_grad()
        loss = criterion(model(image), digit)
        loss.backward()
        optimizer.step()
        total += loss.item() / len(loader)
    norms = [round(weight.norm().item(), 3) for weight in model.parameters() if weight.dim() > 1]
    print(epoch, round(total, 4), norms)
