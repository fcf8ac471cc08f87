"""A logger gets another handler at each call, so every line is written more often."""

LABEL = {
    "set": 1,
    "rule": "ThroughputDrop",
    "first_step": 50,
    "side_effects": ["HotFunction", "StepOutlier"],
}

import logging
import sys
import tempfile

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


def get_logger(file):
    logger = logging.getLogger("training")
    logger.setLevel(logging.INFO)
    if is_faulty or not logger.handlers:
        handler = logging.StreamHandler(file)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
        logger.addHandler(handler)
    logger.propagate = False
    return logger


class Forecast(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(3, 32, batch_first=True)
        self.out = nn.Linear(32, 3)

    def forward(self, past):
        return self.out(self.gru(past)[0][:, -1])


model = Forecast()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
with tempfile.TemporaryFile("w") as file:
    for step in range(600):
        begins = 6.28 * torch.rand(32, 1, 3)
        speeds = 0.2 + 0.4 * torch.rand(32, 1, 3)
        series = torch.sin(begins + speeds * torch.arange(17.0).view(1, -1, 1))
        loss = nn.functional.mse_loss(model(series[:, :-1]), series[:, -1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        get_logger(file).info("step %d loss %.4f", step, loss.item())
        get_logger(file).info("step %d rate %.1e", step, optimizer.param_groups[0]["lr"])
        if step % 100 == 99:
            print(step, loss.item())
