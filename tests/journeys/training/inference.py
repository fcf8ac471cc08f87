"""Inference without training, in eval mode and in inference mode."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn

seed_all()
model = nn.Sequential(
    nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2)
)
model.eval()
for step in range(10):
    with torch.no_grad():
        print_value("answer", model(torch.randn(4, 2, 8)).sum())
    with torch.inference_mode():
        print_value("answer", model(torch.randn(4, 2, 8)).sum())
print_final_state(model)
