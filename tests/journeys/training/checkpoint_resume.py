"""Saves a checkpoint and exits; resumes on the second call, with copies of the model."""

import copy
import io
import pickle
from pathlib import Path

import torch
from reporting import digest, print_final_state, print_value, seed_all
from torch import nn

CHECKPOINT = Path("checkpoint.pt")

seed_all()
model = nn.Sequential(nn.Linear(6, 12), nn.BatchNorm1d(12), nn.ReLU(), nn.Linear(12, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
first = 0
if CHECKPOINT.exists():
    saved = torch.load(CHECKPOINT)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    torch.set_rng_state(saved["random"])
    first = saved["step"]
average = torch.optim.swa_utils.AveragedModel(copy.deepcopy(model))

for step in range(first, first + 15):
    points = torch.randn(16, 6)
    loss = nn.functional.mse_loss(model(points), points.sum(1, keepdim=True))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average.update_parameters(model)
    print_value(f"loss {step}", loss)

state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
torch.save({**state, "random": torch.get_rng_state(), "step": first + 15}, CHECKPOINT)
print("file", digest(torch.load(CHECKPOINT)))
whole = io.BytesIO()
torch.save(model, whole)
print("whole model", len(whole.getvalue()))
restored = pickle.loads(pickle.dumps(model))
restored_optimizer = pickle.loads(pickle.dumps(optimizer))
print("pickled", len(pickle.dumps(model)), len(pickle.dumps(optimizer)))
print_final_state(model, optimizer, average, restored, restored_optimizer)
