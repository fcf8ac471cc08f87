"""Soil cores: material, acidity and organisms; each step trains one of these tasks."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
DEPTHS, SENSORS, SOILS, SPECIES, BATCH, STEPS = 24, 4, 5, 7, 48, 1200
mixing = torch.randn(9, SENSORS, DEPTHS)
mixing = F.avg_pool1d(mixing, 5, 1, 2) * 1.6
of_soil, of_sourness, of_life = torch.randn(9, SOILS), torch.randn(9, 1), torch.randn(9, SPECIES)


def cores(number):
    hidden = torch.randn(number, 9)
    signal = torch.einsum("nk,kst->nst", hidden, mixing) / 2.2
    signal = signal + 0.3 * torch.randn(number, SENSORS, DEPTHS)
    soil = (2 * hidden @ of_soil + 0.5 * torch.randn(number, SOILS)).argmax(1)
    sour = 12 * torch.tanh(hidden @ of_sourness / 3).squeeze(1) + torch.randn(number)
    life = (hidden @ of_life + 0.5 * torch.randn(number, SPECIES) > 0).float()
    return signal, {"soil": soil, "sour": sour, "life": life}


class Core(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(
            *(nn.Conv1d(SENSORS, 32, 5, padding=2), nn.GELU()),
            *(nn.Conv1d(32, 32, 5, 2, 2), nn.GELU(), nn.Flatten()),
            *(nn.Linear(32 * 12, 64), nn.LayerNorm(64), nn.GELU()),
        )
        self.heads = nn.ModuleDict(
            {
                "soil": nn.Linear(64, SOILS),
                "sour": nn.Linear(64, 1),
                "life": nn.Linear(64, SPECIES),
            }
        )

    def forward(self, signal, question):
        return self.heads[question](self.trunk(signal)).squeeze(1)


losses = {
    "soil": F.cross_entropy,
    "sour": F.mse_loss,
    "life": F.binary_cross_entropy_with_logits,
}
weights = {"soil": 1.0, "sour": 0.1, "life": 1.0}
model = Core()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 2e-3, total_steps=STEPS)
signal, answers = cores(12_000)
new_signal, new_answers = cores(1000)
questions = list(losses)
for step in range(STEPS):
    question = questions[step % 3]
    rows = torch.randint(0, len(signal), (BATCH,))
    optimizer.zero_grad()
    outputs = model(signal[rows], question)
    loss = weights[question] * losses[question](outputs, answers[question][rows])
    loss.backward()
    optimizer.step()
    schedule.step()
    if step % 150 == 149:
        model.eval()
        with torch.no_grad():
            results = [
                f"{q} {losses[q](model(new_signal, q), new_answers[q]):.3f}" for q in questions
            ]
        model.train()
        print(f"{step + 1}: {', '.join(results)}")
