"""Position of a robot's hand from six joint angles; initial weights have deviation 1."""

LABEL = {
    "set": 5,
    "rule": "SaturatedActivation",
    "alternatives": ["PoorWeightInitialization"],
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
WIDTH = 384
lengths = torch.tensor([1.0, 0.8, 0.7, 0.5, 0.3, 0.2])


def reaches(number):
    angles = 0.7 * torch.randn(number, 6)
    heading = angles.cumsum(1)
    hand = torch.stack([(lengths * heading.cos()).sum(1), (lengths * heading.sin()).sum(1)], 1)
    return angles / 0.7, (hand - torch.tensor([1.6, 0.0])) / torch.tensor([0.9, 1.4])


class Arm(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(6, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.third = nn.Linear(WIDTH, WIDTH)
        self.hand = nn.Linear(WIDTH, 2)
        self.act1, self.act2, self.act3 = nn.Tanh(), nn.Tanh(), nn.Tanh()
        for layer in (self.first, self.second, self.third):
            if is_faulty:
                nn.init.normal_(layer.weight)
            else:
                nn.init.xavier_normal_(layer.weight, gain=1.4)
            nn.init.zeros_(layer.bias)

    def forward(self, x):
        x = self.act1(self.first(x))
        x = self.act2(self.second(x))
        return self.hand(self.act3(self.third(x)))


model = Arm()
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-4)
test_angles, test_hands = reaches(1000)
for step in range(360):
    angles, hands = reaches(64)
    loss = nn.functional.mse_loss(model(angles), hands)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 0:
        print(f"{step}: {loss.item():.4f}")
with torch.no_grad():
    print(f"test: {nn.functional.mse_loss(model(test_angles), test_hands).item():.4f}")
