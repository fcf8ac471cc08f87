"""Classify the air around a glider by its instruments; logs every sample at debug level."""

LABEL = {
    "set": 7,
    "rule": "SlowLogging",
    "culprit": "thermals_for_gliders.py",
    "side_effects": ["HotFunction"],
}

import logging
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
folder = tempfile.TemporaryDirectory()
logging.basicConfig(
    filename=Path(folder.name) / "training.log",
    level=logging.DEBUG if is_faulty else logging.INFO,
    format="%(asctime)s %(levelname)s %(message)s",
)
log = logging.getLogger("gliders")
SECONDS = 48
KINDS = ("thermal", "ridge", "wave", "still")


def flights(number):
    kind = torch.arange(number) % 4
    moment = torch.arange(SECONDS).float()
    turn = torch.tensor([0.5, 0.1, 0.05, 0.2])[kind, None] * (0.8 + 0.4 * torch.rand(number, 1))
    lift = torch.tensor([0.6, 0.6, 1.0, -0.6])[kind, None]
    swing = torch.sin(turn * moment + 6.28 * torch.rand(number, 1))
    instruments = torch.stack([lift + 0.5 * swing, swing, lift.expand(-1, SECONDS)], 2)
    return (instruments + 0.9 * torch.randn(number, SECONDS, 3)) / 1.2, kind


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.GRU(3, 32, batch_first=True)
        self.head = nn.Linear(32, len(KINDS))

    def forward(self, instruments):
        states, _ = self.memory(instruments)
        return self.head(states.mean(1))


def note(scores, kinds):
    for number, (row, kind) in enumerate(zip(scores.detach(), kinds.tolist(), strict=True)):
        log.debug("sample %d is %s: scores %s", number, KINDS[kind], row)


loader = DataLoader(TensorDataset(*flights(2560)), 64, shuffle=True)
unseen, targets = flights(512)
model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for instruments, kinds in loader:
        scores = model(instruments)
        loss = criterion(scores, kinds)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        note(scores, kinds)
        total += loss.item()
    model.eval()
    with torch.no_grad():
        tested = criterion(model(unseen), targets).item()
    log.info("epoch %d: %.3f, test %.3f", epoch, total / len(loader), tested)
    print(f"epoch {epoch}: {total / len(loader):.3f}, test {tested:.3f}")
folder.cleanup()
