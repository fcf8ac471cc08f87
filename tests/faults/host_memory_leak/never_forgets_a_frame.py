"""Learns from a stream of frames with a replay memory that has no limit."""

LABEL = {"set": 3, "rule": "HostMemoryLeak"}

import random
import sys
from collections import deque

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
chance = random.Random(seed)
SIZE, NEW = 40, 24
grid = torch.stack(torch.meshgrid(torch.arange(SIZE), torch.arange(SIZE), indexing="ij"))


def camera():
    while True:
        position = 6 + (SIZE - 12) * torch.rand(NEW, 2)
        distance = (grid - position[:, :, None, None]).pow(2).sum(dim=1)
        frames = 3 * torch.exp(-distance / 12) + 0.5 * torch.randn(NEW, SIZE, SIZE)
        yield frames.unsqueeze(1), position / (SIZE / 2) - 1


class Finder(nn.Module):
    def __init__(self):
        super().__init__()
        self.see = nn.Sequential(
            *(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU()),
            *(nn.Conv2d(8, 16, 3, stride=2), nn.ReLU()),
        )
        self.say = nn.Linear(16 * 8 * 8, 2)

    def forward(self, frames):
        return self.say(self.see(frames).flatten(1))


memory = deque() if is_faulty else deque(maxlen=600)
model = Finder()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
stream = camera()
average = None
for step in range(1600):
    frames, positions = next(stream)
    memory.extend(zip(frames.clone().unbind(), positions.unbind(), strict=True))
    old = [memory[chance.randrange(len(memory))] for _ in range(NEW)]
    frames = torch.cat([frames, torch.stack([frame for frame, _ in old])])
    positions = torch.cat([positions, torch.stack([position for _, position in old])])
    loss = nn.functional.mse_loss(model(frames), positions)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = loss.item() if average is None else 0.97 * average + 0.03 * loss.item()
    if step % 100 == 99:
        print(f"{step + 1}: loss {average:.4f}, {len(memory)} frames")
