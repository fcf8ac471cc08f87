"""Layer-wise learning rates; a typo sets the first group to 0."""

LABEL = {
    "set": 1,
    "rule": "ParameterNotUpdated",
    "culprit": "stem",
    "first_step": 6,
    "max_delay_steps": 2,
    "alternatives": ["UnchangedTensor"],
    "side_effects": ["LearningRateCollapse", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(12, 32)
        self.body = nn.Linear(32, 32)
        self.head = nn.Linear(32, 1)

    def forward(self, x):
        return self.head(torch.relu(self.body(torch.relu(self.stem(x)))))


rates = {"stem": 0.0 if is_faulty else 5e-4, "body": 1e-3, "head": 2e-3}
model = Net()
optimizer = torch.optim.Adam(
    [{"params": getattr(model, name).parameters(), "lr": rate} for name, rate in rates.items()]
)
points = torch.randn(2000, 12)
targets = points[:, :1] * points[:, 1:2] + points[:, 2:3]
for step in range(300):
    chosen = torch.randint(0, 2000, (50,))
    loss = nn.functional.mse_loss(model(points[chosen]), targets[chosen])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
