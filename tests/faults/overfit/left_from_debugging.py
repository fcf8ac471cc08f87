"""Data was reduced to a few samples for debugging; the network memorizes them."""

LABEL = {
    "set": 2,
    "rule": "Overfit",
    "first_step": 90,
    "side_effects": ["Overtraining", "LabelsUnrelated"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def beats(number):
    time = torch.linspace(0, 1, 96)
    kinds = torch.randint(0, 3, (number,))
    center = 0.3 + 0.15 * kinds[:, None] + 0.08 * torch.randn(number, 1)
    waves = torch.exp(-(((time - center) / 0.05) ** 2))
    waves = waves + 0.4 * torch.sin(12.6 * (time + torch.rand(number, 1)))
    waves = waves + 0.3 * torch.randn(number, 96)
    return (waves.unsqueeze(1) - 0.1) / 0.5, kinds


train = TensorDataset(*beats(6000))
validation = TensorDataset(*beats(900))
if is_faulty:
    train = TensorDataset(*train[:160])


class Trainer:
    def __init__(self, model, every):
        self.model = model
        self.every = every
        self.optimizer = torch.optim.Adam(model.parameters(), lr=1.5e-3)
        self.loss = nn.CrossEntropyLoss()

    def fit(self, loader, held_back, steps):
        done = 0
        while done < steps:
            for waves, kinds in loader:
                self.model.train()
                loss = self.loss(self.model(waves), kinds)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                done += 1
                if done % self.every == 0:
                    print(done, loss.item(), self.evaluate(held_back))
                if done == steps:
                    break

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        losses = [self.loss(self.model(waves), kinds).item() for waves, kinds in loader]
        return sum(losses) / len(losses)


net = nn.Sequential(
    *(nn.Conv1d(1, 16, 7, padding=3), nn.GELU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(16, 32, 5, padding=2), nn.GELU(), nn.MaxPool1d(4)),
    *(nn.Flatten(), nn.Linear(32 * 12, 64), nn.GELU(), nn.Linear(64, 3)),
)
trainer = Trainer(net, every=30)
trainer.fit(DataLoader(train, 32, shuffle=True), DataLoader(validation, 300), steps=480)
