"""Two batches per step; gradients are cleared only at the start of each epoch."""

LABEL = {
    "set": 1,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "NOT_A_NUMBER", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

WORDS, ACCUMULATED = 600, 2


class Topics(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(WORDS, 48, mode="mean")
        self.hidden = nn.Linear(48, 96)
        self.out = nn.Linear(96, 5)

    def forward(self, texts):
        return self.out(torch.relu(self.hidden(self.bag(texts))))


class Trainer:
    def __init__(self, model, loader):
        self.model, self.loader = model, loader
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.4)

    def epoch(self):
        self.optimizer.zero_grad()
        for number, (texts, topics) in enumerate(self.loader, 1):
            loss = nn.functional.cross_entropy(self.model(texts), topics)
            (loss / ACCUMULATED).backward()
            if number % ACCUMULATED == 0:
                self.optimizer.step()
                if not is_faulty:
                    self.optimizer.zero_grad()
        return loss.item()


topics = torch.randint(0, 5, (4800,))
common = torch.randint(0, WORDS, (4800, 30))
typical = topics.unsqueeze(1) * 120 + torch.randint(0, 120, (4800, 30))
texts = torch.where(torch.rand(4800, 30) < 0.4, typical, common)
loader = DataLoader(TensorDataset(texts, topics), batch_size=24, shuffle=True)
trainer = Trainer(Topics(), loader)
for number in range(6):
    print(number, trainer.epoch())
