"""Early stopping that adds the minimum improvement instead of subtracting it."""

LABEL = {
    "set": 1,
    "rule": "Overtraining",
    "side_effects": ["LossNotDecreasing"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class EarlyStopping:
    def __init__(self, patience=10, least=0.002):
        self.patience, self.least = patience, least
        self.best, self.waited = float("inf"), 0

    def is_over(self, loss):
        bound = self.best + self.least if is_faulty else self.best - self.least
        if loss < bound:
            self.best, self.waited = loss, 0
        else:
            self.waited += 1
        return self.waited >= self.patience


class Trainer:
    """Trains a denoising autoencoder on signals that are generated on the fly."""

    def __init__(self):
        self.basis = torch.randn(3, 24)
        self.model = nn.Sequential(nn.Linear(24, 3), nn.Linear(3, 24))
        self.optimizer = torch.optim.NAdam(self.model.parameters(), lr=5e-3)
        self.valid = [self.signals(200) for _ in range(5)]

    def signals(self, count):
        clean = torch.randn(count, 3) @ self.basis / 1.7
        return clean + 0.5 * torch.randn(clean.shape), clean + 0.5 * torch.randn(clean.shape)

    def train(self, steps):
        self.model.train()
        for _ in range(steps):
            noisy, targets = self.signals(256)
            self.optimizer.zero_grad()
            loss = nn.functional.mse_loss(self.model(noisy), targets)
            loss.backward()
            self.optimizer.step()
        return loss.item()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        losses = [
            nn.functional.mse_loss(self.model(noisy), targets) for noisy, targets in self.valid
        ]
        return torch.stack(losses).mean().item()


trainer, stopping = Trainer(), EarlyStopping()
for epoch in range(100):
    train_loss = trainer.train(15)
    loss = trainer.evaluate()
    print(epoch, train_loss, loss)
    if stopping.is_over(loss):
        break
