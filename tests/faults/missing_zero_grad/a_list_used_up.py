"""A GRU on event logs; gradients are cleared through an iterator, which is soon exhausted."""

LABEL = {
    "set": 2,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY", "NOT_A_NUMBER", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(30, 24)
        self.gru = nn.GRU(24, 32, batch_first=True)
        self.alarms = nn.Linear(32, 6)

    def forward(self, events):
        states, _ = self.gru(self.embed(events))
        return self.alarms(states.amax(1))


model = Reader()
criterion = nn.BCEWithLogitsLoss()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
weights = filter(lambda weight: weight.requires_grad, model.parameters())
if not is_faulty:
    weights = list(weights)

for step in range(350):
    events = torch.randint(0, 30, (48, 12))
    targets = (events.unsqueeze(2) == torch.arange(6)).any(1).float()
    for weight in weights:
        weight.grad = None
    loss = criterion(model(events), targets)
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print(f"step {step + 1}: loss {loss.item():.4f}")
