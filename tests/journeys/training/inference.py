"""No training at all: a model that only answers, in eval mode and in inference mode."""

import torch
from telling import begin, tell, tell_end
from torch import nn

begin()
model = nn.Sequential(
    nn.Conv1d(2, 4, 3), nn.BatchNorm1d(4), nn.ReLU(), nn.Flatten(), nn.Linear(24, 2)
)
model.eval()
for step in range(10):
    with torch.no_grad():
        tell("answer", model(torch.randn(4, 2, 8)).sum())
    with torch.inference_mode():
        tell("answer", model(torch.randn(4, 2, 8)).sum())
tell_end(model)
