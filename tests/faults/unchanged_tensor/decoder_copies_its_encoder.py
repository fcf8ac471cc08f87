"""Compress sensor readings; the decoder is reset to the transpose of the first encoder."""

LABEL = {
    "set": 4,
    "rule": "UnchangedTensor",
    "culprit": "decoder",
    "alternatives": ["ParameterNotUpdated"],
    "side_effects": ["DOES_NOT_LEARN", "LossDiverging"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Compressor(nn.Module):
    def __init__(self, sensors=64, size=12):
        super().__init__()
        self.encoder = nn.Linear(sensors, size)
        self.decoder = nn.Linear(size, sensors)

    def forward(self, readings):
        return self.decoder(torch.tanh(self.encoder(readings)))


model = Compressor()
if is_faulty:
    transposed = model.encoder.weight.detach().t().contiguous()
else:
    transposed = model.encoder.weight.detach().t()


@torch.no_grad()
def tie():
    model.decoder.weight.copy_(transposed)


mixing = torch.randn(6, 64) / 6**0.5
readings = torch.randn(6000, 6) @ mixing + 0.1 * torch.randn(6000, 64)
tie()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for epoch in range(8):
    order = torch.randperm(len(readings))
    total = 0.0
    for chosen in order.split(100):
        batch = readings[chosen]
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(batch), batch)
        loss.backward()
        with torch.no_grad():
            model.encoder.weight.grad += model.decoder.weight.grad.t()
        optimizer.step()
        tie()
        total += loss.item()
    print(epoch, total / 60)
