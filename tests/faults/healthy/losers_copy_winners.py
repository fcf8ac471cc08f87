"""Population-based training of five digit models: the worst copies the best."""

LABEL = {"set": 7, "rule": None}

import copy
import sys

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

torch.set_num_threads(1)
seed = int(sys.argv[2])
torch.manual_seed(seed)
pixels, digits = load_digits(return_X_y=True)
pixels = torch.tensor(pixels, dtype=torch.float32).view(-1, 1, 8, 8)
pixels = (pixels - pixels.mean()) / pixels.std()
training, held_out = random_split(TensorDataset(pixels, torch.tensor(digits)), [1440, 357])
loader = DataLoader(training, 48, shuffle=True)
unseen, targets = held_out[:]
criterion = nn.CrossEntropyLoss()


class Member:
    def __init__(self, rate):
        self.model = nn.Sequential(
            *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
            *(nn.Conv2d(16, 24, 3, padding=1), nn.ReLU(), nn.Flatten()),
            *(nn.Dropout(0.3), nn.Linear(384, 10)),
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=rate, momentum=0.9)
        self.result = float("inf")

    def train(self):
        self.model.train()
        total = 0.0
        for picture, digit in loader:
            self.optimizer.zero_grad()
            loss = criterion(self.model(picture), digit)
            loss.backward()
            self.optimizer.step()
            total += loss.item()
        return total / len(loader)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        self.result = criterion(self.model(unseen), targets).item()

    def become(self, other):
        self.model.load_state_dict(other.model.state_dict())
        self.optimizer.load_state_dict(copy.deepcopy(other.optimizer.state_dict()))
        factor = 1.25 if torch.rand(()) < 0.5 else 0.8
        for group in self.optimizer.param_groups:
            group["lr"] *= factor


members = [Member(rate) for rate in (0.001, 0.003, 0.006, 0.012, 0.025)]
for turn in range(9):
    means = [member.train() for member in members]
    for member in members:
        member.evaluate()
    ranked = sorted(members, key=lambda member: member.result)
    results = ", ".join(f"{member.result:.3f}" for member in members)
    print(f"turn {turn}: {sum(means) / len(means):.3f}, held out {results}")
    if turn % 2 == 1:
        ranked[-1].become(ranked[0])
best = min(members, key=lambda member: member.result)
print(f"best rate {best.optimizer.param_groups[0]['lr']:.4f}")
