"""Gestures from eight electrodes; after evaluation, the model stays in eval mode."""

LABEL = {
    "set": 7,
    "rule": "ModeMismatch",
    "first_step": 80,  # after the first evaluation
    "max_delay_steps": 2,
    "side_effects": ["Overfit", "Overtraining"],
}

import sys
from contextlib import contextmanager

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
ELECTRODES, MOMENTS, GESTURES = 8, 48, 5
muscles = torch.rand(GESTURES, 3, ELECTRODES)


def recordings(number):
    gesture = torch.arange(number) % GESTURES
    moment = torch.arange(MOMENTS).float()
    onset = MOMENTS * torch.rand(number, 1) * 0.4
    effort = torch.sigmoid((moment - onset) / 3)
    bursts = torch.randn(number, 3, MOMENTS) * effort[:, None]
    signal = torch.einsum("nkt,nke->net", bursts, muscles[gesture])
    return signal + 0.8 * torch.randn(number, ELECTRODES, MOMENTS), gesture


class Separable(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.along = nn.Conv1d(inner, inner, 5, padding=2, groups=inner)
        self.across = nn.Conv1d(inner, outer, 1, bias=False)
        self.norm = nn.BatchNorm1d(outer)

    def forward(self, signal):
        return torch.relu(self.norm(self.across(self.along(signal))))


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(Separable(ELECTRODES, 40), nn.MaxPool1d(2), Separable(40, 56))
        self.head = nn.Sequential(nn.Dropout(0.3), nn.Linear(56, GESTURES))

    def forward(self, signal):
        return self.head(self.body(signal).mean(2))


@contextmanager
def evaluating(model):
    """Run the block in eval mode and restore the previous mode."""
    was_training = model.eval().training if is_faulty else model.training
    model.eval()
    with torch.no_grad():
        yield
    model.train(was_training)


loader = DataLoader(TensorDataset(*recordings(5120)), 64, shuffle=True)
held_out = DataLoader(TensorDataset(*recordings(640)), 128)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
model.train()
for epoch in range(8):
    total = 0.0
    for signal, gesture in loader:
        optimizer.zero_grad()
        loss = criterion(model(signal), gesture)
        loss.backward()
        optimizer.step()
        total += loss.item()
    with evaluating(model):
        unseen = sum(criterion(model(signal), gesture).item() for signal, gesture in held_out) / 5
    print(f"epoch {epoch}: {total / len(loader):.3f}, held out {unseen:.3f}")
