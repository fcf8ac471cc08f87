"""A robot arm; the learning rate is divided by its decay factor instead of multiplied."""

LABEL = {
    "set": 1,
    "rule": "LossDiverging",
    "first_step": 500,
    "side_effects": ["NOT_A_NUMBER", "DOES_NOT_LEARN", "ClipSaturation", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

LENGTHS = torch.tensor([1.0, 0.8, 0.6, 0.3])


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 96), nn.SiLU(), nn.Linear(96, 96), nn.SiLU())
        self.place = nn.Linear(96, 2)
        self.direction = nn.Linear(96, 2)

    def forward(self, angles):
        common = self.body(angles)
        return self.place(common), self.direction(common)


def draw(count):
    angles = (torch.rand(count, 4) - 0.5) * 3
    joints = angles.cumsum(1)
    ends = torch.stack([joints.cos() @ LENGTHS, joints.sin() @ LENGTHS], dim=1)
    return angles, ends, torch.stack([joints[:, -1].cos(), joints[:, -1].sin()], dim=1)


model = Arm()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for step in range(900):
    angles, ends, directions = draw(64)
    place, direction = model(angles)
    loss = nn.functional.mse_loss(place, ends) + nn.functional.mse_loss(direction, directions)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        for group in optimizer.param_groups:
            group["lr"] = group["lr"] / 0.85 if is_faulty else group["lr"] * 0.85
    if step % 60 == 59:
        print(step, loss.item(), optimizer.param_groups[0]["lr"])
