"""Classify reports; optimizer groups by name endings leave out some parameters."""

LABEL = {
    "set": 3,
    "rule": "ParameterNotUpdated",
    "culprit": "reader",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "MissingZeroGrad", "UnchangedTensor", "GradientNormSpike"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WORDS, LENGTH = 400, 20

reports = torch.randint(6, WORDS, (6400, LENGTH))
kinds = torch.randint(0, 6, (6400,))
first, second = kinds // 2, (kinds // 2 + 1 + kinds % 2) % 3
positions = torch.rand(6400, LENGTH).argsort(dim=1)[:, :2].sort(dim=1).values
reports.scatter_(1, positions[:, :1], first[:, None])
reports.scatter_(1, positions[:, 1:], second[:, None])
loader = DataLoader(TensorDataset(reports, kinds), batch_size=64, shuffle=True)


class Sorter(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 32)
        self.reader = nn.GRU(32, 40, batch_first=True)
        self.head = nn.Sequential(nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 6))

    def forward(self, reports):
        hidden, _ = self.reader(self.words(reports))
        return self.head(hidden[:, -1])


def groups(model, decay):
    decayed, plain = [], []
    for name, parameter in model.named_parameters():
        last = name.rsplit(".", 1)[-1]
        if last == "weight" if is_faulty else last.startswith("weight"):
            decayed.append(parameter)
        elif last == "bias" if is_faulty else last.startswith("bias"):
            plain.append(parameter)
    return [
        {"params": decayed, "weight_decay": decay},
        {"params": plain, "weight_decay": 0.0},
    ]


model = Sorter()
optimizer = torch.optim.AdamW(groups(model, 0.01), lr=4e-3)
for epoch in range(3):
    total = 0.0
    for report, kind in loader:
        loss = nn.functional.cross_entropy(model(report), kind)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader))
