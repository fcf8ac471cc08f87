"""Pseudo-labels: twelve labels per digit; confident predictions become labels, too."""

LABEL = {"set": 3, "rule": None}

import sys

import torch
from sklearn.datasets import load_digits
from torch import nn

torch.manual_seed(int(sys.argv[2]))

digits = load_digits()
pictures = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1)
pictures = (pictures - pictures.mean()) / pictures.std()
truth = torch.tensor(digits.target)
order = torch.randperm(len(truth))
pictures, truth = pictures[order], truth[order]
test = torch.arange(1500, len(truth))
labeled = torch.cat([torch.where(truth[:1500] == digit)[0][:12] for digit in range(10)])
unlabeled = torch.ones(1500, dtype=torch.bool)
unlabeled[labeled] = False
unlabeled = torch.where(unlabeled)[0]


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.low = nn.Conv2d(1, 16, 3, padding=1)
        self.high = nn.Conv2d(16, 32, 3, padding=1)
        self.digit = nn.Linear(32 * 16, 10)

    def forward(self, x):
        x = nn.functional.leaky_relu(self.low(x))
        x = nn.functional.max_pool2d(nn.functional.leaky_relu(self.high(x)), 2)
        return self.digit(x.flatten(1))


def weakly(x):
    return x + 0.1 * torch.randn_like(x)


def strongly(x):
    x = torch.roll(x, tuple(torch.randint(-1, 2, (2,)).tolist()), dims=(2, 3))
    return x * (torch.rand_like(x) > 0.15) + 0.4 * torch.randn_like(x)


model = Reader()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, nesterov=True)
criterion = nn.CrossEntropyLoss()
for step in range(400):
    rows = labeled[torch.randint(0, len(labeled), (32,))]
    others = unlabeled[torch.randint(0, len(unlabeled), (96,))]
    with torch.no_grad():
        sure, guess = model(weakly(pictures[others])).softmax(dim=1).max(dim=1)
    loss = criterion(model(weakly(pictures[rows])), truth[rows])
    trusted = sure > 0.9
    if trusted.any():
        outputs = model(strongly(pictures[others[trusted]]))
        share = trusted.float().mean()
        loss = loss + share * criterion(outputs, guess[trusted])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        model.eval()
        with torch.no_grad():
            hits = (model(pictures[test]).argmax(1) == truth[test]).float().mean().item()
        model.train()
        print(f"{step + 1}: loss {loss.item():.3f}, sure {trusted.sum()}, right {hits:.3f}")
