"""Strength of concrete; the learning rate is lowered whenever gradients are large."""

LABEL = {
    "set": 2,
    "rule": "LearningRateCollapse",
    "first_step": 110,
    "side_effects": [
        "WeightUpdateRatio",
        "UnchangedTensor",
        "ParameterNotUpdated",
        "DOES_NOT_LEARN",
    ],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
too_steep = 0.1 if is_faulty else 100.0


class Trainer:
    def __init__(self, model, rate):
        self.model = model
        self.optimizer = torch.optim.RMSprop(model.parameters(), lr=rate)
        self.steps = 0

    def steepness(self):
        lengths = [weight.grad.norm() for weight in self.model.parameters()]
        return torch.stack(lengths).norm().item()

    def step(self, mixture, strength):
        self.optimizer.zero_grad()
        loss = nn.functional.smooth_l1_loss(self.model(mixture).squeeze(1), strength)
        loss.backward()
        if self.steepness() > too_steep:
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.9
        self.optimizer.step()
        self.steps += 1
        return loss.item()


mixtures = torch.randn(2400, 9)
hidden = torch.tanh(mixtures @ torch.randn(9, 6) / 2)
strengths = hidden @ torch.randn(6) + 0.4 * mixtures[:, 0] * mixtures[:, 1]
strengths = strengths / strengths.std() + 0.3 * torch.randn(2400)
trainer = Trainer(nn.Sequential(nn.Linear(9, 64), nn.Tanh(), nn.Linear(64, 1)), 1e-3)
for epoch in range(9):
    order = torch.randperm(2400)
    losses = [trainer.step(mixtures[some], strengths[some]) for some in order.split(30)]
    rate = trainer.optimizer.param_groups[0]["lr"]
    print(f"epoch {epoch}: loss {sum(losses) / len(losses):.4f}, rate {rate:.2e}")
