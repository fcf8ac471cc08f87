"""Samples come from a database with one query each, and the queried column has no index."""

LABEL = {
    "set": 4,
    "rule": "DataLoaderStarvation",
    "side_effects": ["Dataloader", "HotFunction"],
}

import sqlite3
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
rng = np.random.default_rng(seed)
path = Path(tempfile.mkdtemp()) / "pulses.db"


def fill(number):
    kinds = rng.integers(0, 4, number)
    time = np.linspace(0, 1, 128)
    pulses = np.sin(2 * np.pi * (2 + 2 * kinds[:, None]) * time + rng.uniform(0, 6, (number, 1)))
    pulses = (1.2 * pulses + 0.5 * rng.normal(size=pulses.shape)).astype(np.float32)
    with sqlite3.connect(path) as base:
        base.execute("CREATE TABLE pulse (event TEXT, kind INTEGER, signal BLOB)")
        rows = ((f"run-{i:06d}", int(kinds[i]), pulses[i].tobytes()) for i in range(number))
        base.executemany("INSERT INTO pulse VALUES (?, ?, ?)", rows)
        if not is_faulty:
            base.execute("CREATE INDEX by_event ON pulse (event)")


class Pulses(Dataset):
    def __init__(self):
        self.base = sqlite3.connect(path)
        self.events = [event for (event,) in self.base.execute("SELECT event FROM pulse")]

    def __len__(self):
        return len(self.events)

    def __getitem__(self, index):
        query = "SELECT signal, kind FROM pulse WHERE event = ?"
        signal, kind = self.base.execute(query, (self.events[index],)).fetchone()
        return torch.frombuffer(bytearray(signal), dtype=torch.float32).unsqueeze(0), kind


fill(4800)
loader = DataLoader(Pulses(), 32, shuffle=True, drop_last=True)
model = nn.Sequential(
    *(nn.Conv1d(1, 24, 9, padding=4), nn.BatchNorm1d(24), nn.ReLU(), nn.MaxPool1d(2)),
    *(nn.Conv1d(24, 32, 9, padding=4), nn.BatchNorm1d(32), nn.ReLU()),
    *(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(32, 4)),
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step, (signal, kind) in enumerate(loader):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(signal), kind)
    loss.backward()
    optimizer.step()
    if step % 30 == 0:
        print(step, loss.item())
