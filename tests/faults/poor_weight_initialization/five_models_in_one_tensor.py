"""Five networks with stacked weights that are initialized like a single layer."""

LABEL = {
    "set": 4,
    "rule": "PoorWeightInitialization",
    "side_effects": ["VanishingGradient", "DeadRelu", "LossNotDecreasing", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
MEMBERS = 5


class StackedLinear(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(MEMBERS, inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(MEMBERS, 1, outputs))
        if is_faulty:
            nn.init.kaiming_normal_(self.weight, nonlinearity="relu")
        else:
            for weight in self.weight:
                nn.init.kaiming_normal_(weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Dynamics(nn.Module):
    def __init__(self, width=64, depth=7):
        super().__init__()
        layers = [StackedLinear(6, width), nn.ReLU()]
        for _ in range(depth - 1):
            layers += [StackedLinear(width, width), nn.ReLU()]
        self.hidden = nn.Sequential(*layers)
        self.change = StackedLinear(width, 4)

    def forward(self, x):
        return self.change(self.hidden(x))


mixing = torch.randn(6, 4) / 2
turning = torch.randn(6, 4)


def draw(number):
    state = torch.randn(MEMBERS, number, 6)
    change = state @ mixing + torch.sin(state @ turning)
    return state, change + 0.05 * torch.randn_like(change)


model = Dynamics()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(500):
    state, change = draw(64)
    loss = nn.functional.mse_loss(model(state), change)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
