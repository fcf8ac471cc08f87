"""Predict patient responses from hundreds of genes, only a few of which matter."""

LABEL = {
    "set": 4,
    "rule": "Overfit",
    "first_step": 60,
    "side_effects": ["Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

pathways = torch.randn(8, 300) / 8**0.5
states = torch.randn(1200, 8)
genes = states @ pathways + torch.randn(1200, 300)
genes = (genes - genes.mean(0)) / genes.std(0)
score = states[:, 0] + states[:, 1] * 0.8 - states[:, 2] + 0.5 * torch.randn(1200)
response = (score > score.median()).long()

PATIENTS = 400
training = TensorDataset(genes[:PATIENTS], response[:PATIENTS])
validation = TensorDataset(genes[PATIENTS:], response[PATIENTS:])


def build():
    if is_faulty:
        return nn.Sequential(
            *(nn.Linear(300, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 2))
        )
    return nn.Sequential(nn.Dropout(0.6), nn.Linear(300, 8), nn.Tanh(), nn.Linear(8, 2))


@torch.no_grad()
def validate(model):
    model.eval()
    total = 0.0
    for gene, answer in DataLoader(validation, 200):
        total += nn.functional.cross_entropy(model(gene), answer).item()
    model.train()
    return total / 4


model = build()
decay = 0.0 if is_faulty else 2.0
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=decay)
loader = DataLoader(training, 20, shuffle=True)
for epoch in range(14):
    total = 0.0
    for gene, answer in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(gene), answer)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print(epoch, total / len(loader), validate(model))
