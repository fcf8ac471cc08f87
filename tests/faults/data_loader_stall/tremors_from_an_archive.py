"""Classify tremors from seismograms; the archive requires a new login from time to time."""

LABEL = {
    "set": 7,
    "rule": "DataLoaderStall",
    "first_step": 93,  # read no. 3,000 stalls, at 32 reads per step
    "side_effects": ["StepOutlier"],
}

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.set_num_threads(1)
torch.manual_seed(int(sys.argv[2]))
LENGTH, READS_PER_SESSION = 256, 3000
SECONDS_TO_LOG_IN = 9 if is_faulty else 0.01


def seismograms(number):
    kind = torch.randint(4, (number,))
    time_axis = torch.arange(LENGTH).float()
    onset = 30 + 60 * torch.rand(number, 1)
    since = (time_axis - onset).clamp(min=0)
    decay = torch.tensor([12.0, 40.0, 40.0, 90.0])[kind, None]
    pitch = torch.tensor([0.9, 0.9, 0.35, 0.35])[kind, None] * (0.9 + 0.2 * torch.rand(number, 1))
    swell = (since > 0) * torch.exp(-since / decay)
    phases = 6.28 * torch.rand(number, 3, 1)
    traces = swell[:, None] * torch.sin((pitch * time_axis)[:, None] + phases)
    traces = 2.2 * traces + 0.6 * torch.randn(number, 3, LENGTH)
    return (traces - traces.mean((1, 2), keepdim=True)) / traces.std((1, 2), keepdim=True), kind


class Archive(Dataset):
    """An archive that requires a new login after a number of reads."""

    def __init__(self, traces, kinds):
        self.traces, self.kinds = traces, kinds
        self.reads = 0

    def __len__(self):
        return len(self.kinds)

    def __getitem__(self, index):
        self.reads += 1
        if self.reads % READS_PER_SESSION == 0:
            self.log_in()
        return self.traces[index], self.kinds[index]

    def log_in(self):
        time.sleep(SECONDS_TO_LOG_IN)


class Block(nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.conv = nn.Conv1d(inner, outer, 7, stride=2, padding=3)
        self.norm = nn.GroupNorm(4, outer)

    def forward(self, signal):
        return nn.functional.gelu(self.norm(self.conv(signal)))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(3, 40), Block(40, 72), Block(72, 96))
        self.head = nn.Linear(96, 4)

    def forward(self, traces):
        return self.head(self.blocks(traces).mean(2))


loader = DataLoader(
    Archive(*seismograms(1280)), 32, shuffle=True, num_workers=1, persistent_workers=True
)
held_out = DataLoader(TensorDataset(*seismograms(480)), 120)
model = Listener()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss()
for epoch in range(4):
    model.train()
    total = 0.0
    for traces, kinds in loader:
        optimizer.zero_grad()
        loss = criterion(model(traces), kinds)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        unseen = sum(criterion(model(traces), kinds).item() for traces, kinds in held_out) / 4
    print(f"epoch {epoch}: {total / len(loader):.3f}, held out {unseen:.3f}", flush=True)
