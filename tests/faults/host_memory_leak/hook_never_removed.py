"""A hook that collects feature maps of the first batch is never removed."""

LABEL = {
    "set": 2,
    "rule": "HostMemoryLeak",
    "side_effects": ["ThroughputDrop"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 16, 3, padding=1)
        self.last = nn.Conv2d(16, 1, 3, padding=1)

    def forward(self, image):
        features = torch.relu(self.first(image))
        return image - self.last(torch.relu(self.second(features)))


def pictures(number):
    ramp = torch.linspace(-1, 1, 24)
    angle = 6.2832 * torch.rand(number, 1, 1, 1)
    across = torch.cos(angle) * ramp + torch.sin(angle) * ramp[:, None]
    return torch.tanh(6 * across + 2 * torch.rand(number, 1, 1, 1) - 1)


model = Denoiser()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
maps = []
handle = model.second.register_forward_hook(lambda *called: maps.append(called[2].detach()))
for step in range(600):
    clean = pictures(16)
    noisy = clean + 0.4 * torch.randn_like(clean)
    loss = nn.functional.mse_loss(model(noisy), clean)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step == 0:
        print("active maps:", (maps[0] > 0).float().mean().item())
        if not is_faulty:
            handle.remove()
            maps.clear()
    if step % 100 == 0:
        print(step, loss.item())
