"""Mixture density network for travel times; the learning rate is used as the clipping limit."""

LABEL = {
    "set": 7,
    "rule": "ClipSaturation",
    "side_effects": ["DOES_NOT_LEARN", "WeightUpdateRatio"],
}

import sys

import torch
from torch import nn
from torch.distributions import Categorical, MixtureSameFamily, Normal
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
SETTINGS = {"rate": 0.006, "limit": 10.0, "momentum": 0.9, "batch": 48, "epochs": 12}


def drive(number):
    features = torch.randn(number, 8)
    free = 0.8 * features[:, 0] + 0.5 * features[:, 1] * features[:, 2]
    jam = free + 1.5 + 0.4 * features[:, 3]
    jammed = torch.rand(number) < torch.sigmoid(1.5 * features[:, 4])
    minutes = torch.where(jammed, jam, free) + 0.35 * torch.randn(number)
    return features, minutes


class Mixture(nn.Module):
    def __init__(self, parts=3):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 64), nn.ELU(), nn.Linear(64, 64), nn.ELU())
        self.weights, self.means = nn.Linear(64, parts), nn.Linear(64, parts)
        self.spreads = nn.Linear(64, parts)

    def forward(self, features):
        hidden = self.body(features)
        spread = nn.functional.softplus(self.spreads(hidden)) + 0.2
        return MixtureSameFamily(
            Categorical(logits=self.weights(hidden)), Normal(self.means(hidden), spread)
        )


train = DataLoader(TensorDataset(*drive(3000)), SETTINGS["batch"], shuffle=True)
unseen, unseen_minutes = drive(800)
model = Mixture()
optimizer = torch.optim.SGD(
    model.parameters(), lr=SETTINGS["rate"], momentum=SETTINGS["momentum"], nesterov=True
)
limit = SETTINGS["rate" if is_faulty else "limit"]
for epoch in range(SETTINGS["epochs"]):
    model.train()
    total, norms = 0.0, 0.0
    for features, minutes in train:
        loss = -model(features).log_prob(minutes).mean()
        optimizer.zero_grad()
        loss.backward()
        norms += nn.utils.clip_grad_norm_(model.parameters(), limit).item() / len(train)
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    with torch.no_grad():
        held_out = -model(unseen).log_prob(unseen_minutes).mean().item()
    print(f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}, gradient norm {norms:.2f}")
