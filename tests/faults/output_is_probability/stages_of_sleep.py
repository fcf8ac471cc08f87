"""Sleep stages over a night; the model applies a softmax before the cross-entropy loss."""

LABEL = {
    "set": 7,
    "rule": "OutputIsProbability",
    "max_delay_steps": 2,
    "side_effects": ["LossNotDecreasing", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
STAGES, MEASURES, LENGTH = 5, 10, 40
profiles = torch.randn(STAGES, MEASURES)


def nights(number):
    stage = torch.randint(STAGES, (number,))
    stages = []
    for _ in range(LENGTH):
        # Sometimes moves to an adjacent stage.
        moves = (torch.rand(number) < 0.15) * torch.randint(1, 3, (number,))
        stage = (stage + moves * 2 - moves // 2) % STAGES
        stages.append(stage)
    stages = torch.stack(stages, 1)
    return (profiles[stages] + 1.3 * torch.randn(number, LENGTH, MEASURES)) / 1.6, stages


class Scorer(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.memory = nn.LSTM(MEASURES, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, STAGES)

    def forward(self, measures):
        states, _ = self.memory(measures)
        scores = self.head(states)
        if is_faulty:
            scores = scores.softmax(dim=-1)
        return scores.transpose(1, 2)


loader = DataLoader(TensorDataset(*nights(2400)), 32, shuffle=True)
unseen, targets = nights(320)
model = Scorer()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(7):
    model.train()
    total = 0.0
    for measures, stages in loader:
        optimizer.zero_grad()
        loss = criterion(model(measures), stages)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        scores = model(unseen)
        right = (scores.argmax(1) == targets).float().mean()
        tested = criterion(scores, targets).item()
    print(f"epoch {epoch}: {total / len(loader):.3f}, test {tested:.3f}, right {right:.1%}")
