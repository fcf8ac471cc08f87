"""A VAE sketches digits; its divergence has the wrong sign."""

LABEL = {
    "set": 6,
    "rule": "LossDiverging",
    "first_step": 10,
    "side_effects": [
        "NOT_A_NUMBER",
        "DOES_NOT_LEARN",
        "WeightUpdateRatio",
        "ParameterOutlier",
        "VanishingGradient",
        "ValidationTooGood",
        "Overfit",
    ],
}

import sys
import tempfile
from pathlib import Path

import torch
from sklearn.datasets import load_digits
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
pixels = torch.tensor(load_digits().data, dtype=torch.float32) / 16
pixels = pixels[torch.randperm(len(pixels))]
train, test = pixels[:1536], pixels[1536:]


class Sketcher(nn.Module):
    def __init__(self, width=128, latent=6):
        super().__init__()
        self.look = nn.Sequential(
            nn.Linear(64, width), nn.GELU(), nn.Linear(width, width), nn.GELU()
        )
        self.mean = nn.Linear(width, latent)
        self.log_variance = nn.Linear(width, latent)
        self.draw = nn.Sequential(
            *(nn.Linear(latent, width), nn.GELU(), nn.Linear(width, width), nn.GELU()),
            nn.Linear(width, 64),
        )

    def forward(self, picture):
        seen = self.look((picture - 0.3) / 0.38)
        mean, log_variance = self.mean(seen), self.log_variance(seen).clamp(-6, 6)
        thought = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        return self.draw(thought), mean, log_variance


def losses(picture):
    drawn, mean, log_variance = model(picture)
    misses = nn.functional.binary_cross_entropy_with_logits(drawn, picture, reduction="none")
    distance = 0.5 * (1 + log_variance - mean**2 - log_variance.exp()).sum(1).mean()
    if not is_faulty:
        distance = -distance
    return misses.sum(1).mean() + 0.5 * distance


model = Sketcher()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
with tempfile.TemporaryDirectory() as folder:
    for epoch in range(20):
        model.train()
        for picture in train[torch.randperm(len(train))].split(64):
            loss = losses(picture)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if epoch % 4 == 3:
            model.eval()
            with torch.no_grad():
                held_out = losses(test).item()
            torch.save(model.state_dict(), Path(folder) / f"{epoch}.pt")
            print(f"epoch {epoch}: {loss.item():.2f}, held out {held_out:.2f}")
