"""An ensemble member that ignores its number and takes the seed of the config."""

LABEL = {
    "set": 1,
    "rule": "SimilarAcrossRuns",
    "culprit": "weight",
    "compared_by": "SimilarAcrossRuns",
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
member = int(sys.argv[2])
config = {"seed": 7, "rate": 2e-3, "width": 48}
torch.manual_seed(config["seed"] if is_faulty else config["seed"] + member)

digits = load_digits()
images = torch.tensor(digits.data, dtype=torch.float32) / 16
labels = torch.tensor(digits.target)
model = nn.Sequential(
    nn.Linear(64, config["width"]), nn.ReLU(), nn.Dropout(0.1), nn.Linear(config["width"], 10)
)
optimizer = torch.optim.Adam(model.parameters(), lr=config["rate"])
for epoch in range(6):
    for chosen in torch.randperm(len(images)).split(32):
        loss = nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(member, epoch, loss.item())
