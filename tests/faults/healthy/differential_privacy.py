"""Differential privacy: gradients are clipped per patient, with noise added to their sum."""

LABEL = {"set": 4, "rule": None}

import sys

import torch
from sklearn.datasets import load_breast_cancer
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(int(sys.argv[2]))
LARGEST, NOISE, EXPECTED = 1.0, 0.6, 80

features, labels = load_breast_cancer(return_X_y=True)
features = torch.tensor(features, dtype=torch.float32)
features = (features - features.mean(dim=0)) / features.std(dim=0)
labels = torch.tensor(labels)
order = torch.randperm(len(labels))
features, labels = features[order], labels[order]
held_out, their_labels = features[430:], labels[430:]
features, labels = features[:430], labels[:430]

model = nn.Sequential(nn.Linear(30, 24), nn.Tanh(), nn.Linear(24, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.5)


def loss_of_one(parameters, patient, label):
    scores = functional_call(model, parameters, (patient.unsqueeze(0),))
    return nn.functional.cross_entropy(scores, label.unsqueeze(0))


gradients_of_each = vmap(grad(loss_of_one), in_dims=(None, 0, 0))


def private_gradients(patients, labels):
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    gradients = gradients_of_each(parameters, patients, labels)
    squares = sum(each.flatten(1).pow(2).sum(dim=1) for each in gradients.values())
    factors = (LARGEST / squares.sqrt().clamp(min=1e-6)).clamp(max=1.0)
    for name, parameter in model.named_parameters():
        total = torch.einsum("n,n...->...", factors, gradients[name])
        noise = NOISE * LARGEST * torch.randn_like(parameter)
        parameter.grad = (total + noise) / EXPECTED


for step in range(260):
    chosen = torch.rand(len(labels)) < EXPECTED / len(labels)
    optimizer.zero_grad()
    private_gradients(features[chosen], labels[chosen])
    optimizer.step()
    if step % 50 == 0 or step == 259:
        with torch.no_grad():
            scores = model(held_out)
        loss = nn.functional.cross_entropy(scores, their_labels).item()
        right = (scores.argmax(dim=1) == their_labels).float().mean().item()
        print(f"{step}: loss {loss:.3f}, right {right:.3f}")
