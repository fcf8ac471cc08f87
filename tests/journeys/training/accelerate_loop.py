"""Accelerate with accumulation over four batches, clipping and a scheduler."""

import torch
from accelerate import Accelerator
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed_all()
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=4)
points = torch.randn(128, 8)
data = TensorDataset(points, points.abs().sum(1, keepdim=True))
model = nn.Sequential(nn.Linear(8, 16), nn.Mish(), nn.Linear(16, 1))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.02)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=4, gamma=0.5)
loader = DataLoader(data, batch_size=4, shuffle=True)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)

for batch, targets in loader:
    with accelerator.accumulate(model):
        loss = nn.functional.mse_loss(model(batch), targets)
        accelerator.backward(loss)
        if accelerator.sync_gradients:
            print_value("norm", accelerator.clip_grad_norm_(model.parameters(), 1.0))
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    print_value("loss", loss)
    print_value("rate", scheduler.get_last_lr()[0])
print_final_state(accelerator.unwrap_model(model), optimizer)
