"""An autoencoder with nonnegative weights; they are clamped below zero instead of above."""

LABEL = {
    "set": 1,
    "rule": "DeadRelu",
    "culprit": "relu",
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys
from collections import OrderedDict

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

images = torch.tensor(load_digits().data, dtype=torch.float32) / 16
loader = DataLoader(images, batch_size=48, shuffle=True)
model = nn.Sequential(
    OrderedDict(
        strokes=nn.Linear(64, 256),
        relu_strokes=nn.ReLU(),
        parts=nn.Linear(256, 96),
        relu_parts=nn.ReLU(),
        picture=nn.Linear(96, 64),
    )
)


@torch.no_grad()
def hold(layer):
    if is_faulty:
        layer.weight.clamp_(max=0)
    else:
        layer.weight.clamp_(min=0)


for layer in (model.strokes, model.parts):
    hold(layer)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(20):
    for batch in loader:
        loss = nn.functional.mse_loss(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for layer in (model.strokes, model.parts):
            hold(layer)
    with torch.no_grad():
        strokes = model[:2](images)
        silent = (strokes > 0).float().mean(0).le(0.01).float().mean()
        silent_parts = (model[:4](images) > 0).float().mean(0).le(0.01).float().mean()
    print(epoch, loss.item(), silent.item(), silent_parts.item())
