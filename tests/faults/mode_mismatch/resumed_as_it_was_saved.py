"""A whole model is saved in eval mode, and training resumes without train mode."""

LABEL = {
    "set": 2,
    "rule": "ModeMismatch",
    "first_step": 200,
    "max_delay_steps": 2,
}

import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
file = Path(tempfile.mkdtemp()) / "model.pt"

inputs = torch.randn(4000, 16)
curve = torch.sin(inputs[:, 0] * 2) + inputs[:, 1] * inputs[:, 2] + 0.5 * inputs[:, 3]
targets = (curve + 0.1 * torch.randn(4000)).unsqueeze(1)


def train(model, steps, rate):
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    for step in range(steps):
        chosen = torch.randint(0, 3200, (64,))
        loss = nn.functional.mse_loss(model(inputs[chosen]), targets[chosen])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(step, loss.item())


def evaluate(model):
    model.eval()
    with torch.no_grad():
        errors = [
            nn.functional.mse_loss(model(inputs[part]), targets[part]).item()
            for part in torch.arange(3200, 4000).split(200)
        ]
    print("validation", sum(errors) / len(errors))


model = nn.Sequential(
    *(nn.Linear(16, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1)),
    *(nn.Linear(96, 96), nn.BatchNorm1d(96), nn.ReLU(), nn.Dropout(0.1)),
    nn.Linear(96, 1),
)
train(model, steps=200, rate=2e-3)
evaluate(model)
torch.save(model, file)
model = torch.load(file, weights_only=False)
if not is_faulty:
    model.train()
train(model, steps=200, rate=1e-3)
evaluate(model)
