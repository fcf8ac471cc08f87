"""An autoencoder whose optimizer has only the decoder's parameters."""

LABEL = {
    "set": 1,
    "rule": "ParameterNotUpdated",
    "culprit": "encoder",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["UnchangedTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

factors = torch.randn(4096, 6)
points = torch.tanh(factors @ torch.randn(6, 32)) + 0.05 * torch.randn(4096, 32)


class AutoEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(32, 64), nn.ELU(), nn.Linear(64, 6))
        self.decoder = nn.Sequential(nn.Linear(6, 64), nn.ELU(), nn.Linear(64, 32))

    def forward(self, x):
        return self.decoder(self.encoder(x))


model = AutoEncoder()
learned = model.decoder if is_faulty else model
optimizer = torch.optim.AdamW(learned.parameters(), lr=3e-3)
criterion = nn.MSELoss()

for step in range(300):
    batch = points[torch.randint(0, len(points), (64,))]
    loss = criterion(model(batch), batch)
    model.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: {loss.item():.4f}")
