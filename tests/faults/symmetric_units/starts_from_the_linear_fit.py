"""Yield of a field; all hidden units start from the same linear fit."""

LABEL = {
    "set": 2,
    "rule": "SymmetricUnits",
    "culprit": "hidden",
    "first_step": 1,
    "side_effects": ["DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

fields = torch.randn(1600, 10)
yields = fields @ (0.3 * torch.randn(10)) + 0.8 * torch.sin(1.5 * fields[:, 0])
yields = yields + 0.5 * fields[:, 1].abs() + 0.2 * torch.randn(1600)
yields = (yields - yields.mean()) / yields.std()


class Yield(nn.Module):
    def __init__(self, units=32):
        super().__init__()
        self.hidden = nn.Linear(10, units)
        self.output = nn.Linear(units, 1)

    def start_from(self, slope):
        with torch.no_grad():
            if is_faulty:
                self.hidden.weight.copy_(slope.expand_as(self.hidden.weight))
            else:
                self.hidden.weight.add_(slope)
            self.hidden.bias.zero_()
            self.output.weight.fill_(1 / self.hidden.out_features)

    def forward(self, inputs):
        return self.output(torch.nn.functional.softplus(self.hidden(inputs))).squeeze(1)


slope = torch.linalg.lstsq(fields, yields.unsqueeze(1)).solution.T
model = Yield()
model.start_from(slope)
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for epoch in range(10):
    total = 0.0
    for some in torch.randperm(1600).split(40):
        loss = nn.functional.mse_loss(model(fields[some]), yields[some])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / 40
    print(f"epoch {epoch}: {total:.4f}")
