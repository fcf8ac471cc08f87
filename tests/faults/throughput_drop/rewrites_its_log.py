"""The complete log of the training is rewritten after every step."""

LABEL = {
    "set": 2,
    "rule": "ThroughputDrop",
    "first_step": 100,
    "side_effects": ["HotFunction", "StepOutlier"],
}

import json
import sys
import tempfile
from pathlib import Path

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
folder = Path(tempfile.mkdtemp())


class Autoencoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 48), nn.GELU(), nn.Linear(48, 24))
        self.decoder = nn.Sequential(nn.Linear(24, 48), nn.GELU(), nn.Linear(48, 64))

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


class Log:
    def __init__(self):
        self.entries = []

    def write(self, entry):
        if is_faulty:
            self.entries.append(entry)
            (folder / "log.json").write_text(json.dumps(self.entries))
        else:
            with (folder / "log.jsonl").open("a") as file:
                file.write(json.dumps(entry) + "\n")


mixing = torch.randn(8, 64) / 3
model = Autoencoder()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
log = Log()
for step in range(450):
    readings = torch.randn(128, 8) @ mixing + 0.1 * torch.randn(128, 64)
    again, code = model(readings)
    loss = nn.functional.mse_loss(again, readings)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    entry = {"step": step, "loss": loss.item()}
    entry["code"] = {f"unit {unit}": mean for unit, mean in enumerate(code.mean(dim=0).tolist())}
    log.write(entry)
    if step % 100 == 0:
        print(step, loss.item())
