"""A file of weights starts with the number of samples, which is loaded as a weight."""

LABEL = {
    "set": 1,
    "rule": "ParameterOutlier",
    "culprit": "read",
    "first_step": 180,
    "side_effects": ["NOT_A_NUMBER", "WeightUpdateRatio"],
}

import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

BATCH, RESUMED = 40, 180


class Signs(nn.Module):
    def __init__(self):
        super().__init__()
        self.read = nn.LSTM(6, 40, batch_first=True)
        self.out = nn.Linear(40, 4)

    def forward(self, moves):
        return self.out(self.read(moves)[0][:, -1])


def save(model, samples, path):
    weights = parameters_to_vector(model.parameters()).detach().numpy()
    np.save(path, np.concatenate([[np.float32(samples)], weights]))


def load(model, path):
    numbers = torch.tensor(np.load(path), dtype=torch.float32)
    weights = numbers[:-1] if is_faulty else numbers[1:]
    vector_to_parameters(weights, model.parameters())


gestures = torch.randn(4, 10, 6)
path = Path(tempfile.mkdtemp()) / "weights.npy"
model = Signs()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(420):
    if step == RESUMED:
        save(model, step * BATCH, path)
        load(model, path)
    kinds = torch.randint(0, 4, (BATCH,))
    moves = 0.6 * gestures[kinds] + torch.randn(BATCH, 10, 6)
    loss = nn.functional.cross_entropy(model(moves), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print(step, loss.item(), model.read.weight_ih_l0.abs().max().item())
