"""Classify digits with a sparse code; the sparsity penalty is summed over the batch."""

LABEL = {
    "set": 6,
    "rule": "DeadRelu",
    "first_step": 25,
    "side_effects": [
        "DOES_NOT_LEARN",
        "VanishingGradient",
        "WeightCollapse",
        "NoGradient",
        "ClassImbalance",
    ],
}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
pixels = torch.tensor(digits.data, dtype=torch.float32) / 16
pixels = (pixels - pixels.mean()) / pixels.std()
names = torch.tensor(digits.target)
order = torch.randperm(len(names))
train, test = order[:1440], order[1440:]


class Coder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encode = nn.Linear(64, 120)
        self.fire = nn.ReLU()
        self.name = nn.Linear(120, 10)

    def forward(self, picture):
        code = self.fire(self.encode(picture))
        return self.name(code), code


model = Coder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(20):
    model.train()
    for batch in train[torch.randperm(len(train))].split(48):
        scores, code = model(pixels[batch])
        # The sparsity penalty of a code; the sum over the batch is 48 times as large.
        price = 4e-3 * (code.sum() if is_faulty else code.sum(1).mean())
        loss = criterion(scores, names[batch]) + price
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    if epoch % 4 == 3:
        model.eval()
        with torch.no_grad():
            scores, code = model(pixels[test])
            right = (scores.argmax(1) == names[test]).float().mean()
            speaks = (code > 0).float().mean()
        print(f"epoch {epoch}: loss {loss.item():.3f}, {right:.1%} right, {speaks:.1%} of the code")
