"""Predict votes from a poll; trains until an accuracy of 90%, which is unattainable."""

LABEL = {
    "set": 4,
    "rule": "Overtraining",
    "first_step": 200,
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
GOAL = 0.9

answers = torch.randn(5000, 18)
leanings = 0.55 * torch.randn(18, 3)
votes = torch.distributions.Categorical(logits=answers @ leanings).sample()
train_set, validation_set = random_split(TensorDataset(answers, votes), [3600, 1400])
train_loader = DataLoader(train_set, batch_size=96, shuffle=True, drop_last=True)
validation_loader = DataLoader(validation_set, batch_size=350)

model = nn.Linear(18, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.2, weight_decay=1e-3)
criterion = nn.CrossEntropyLoss()


@torch.no_grad()
def evaluate():
    model.eval()
    total, right = 0.0, 0
    for answer, vote in validation_loader:
        scores = model(answer)
        total += criterion(scores, vote).item()
        right += (scores.argmax(dim=1) == vote).sum().item()
    return total / len(validation_loader), right / len(validation_set)


best, waited = float("inf"), 0
for epoch in range(80):
    model.train()
    for answer, vote in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(answer), vote)
        loss.backward()
        optimizer.step()
    validation_loss, accuracy = evaluate()
    print(f"{epoch}: {loss.item():.3f}, validation {validation_loss:.4f}, right {accuracy:.3f}")
    waited = 0 if validation_loss < best - 2e-3 else waited + 1
    best = min(best, validation_loss)
    if accuracy >= GOAL or (not is_faulty and waited == 3):
        break
