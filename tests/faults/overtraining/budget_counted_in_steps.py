"""Bird counts with an additive model; the budget of samples is counted in steps."""

LABEL = {
    "set": 7,
    "rule": "Overtraining",
    "first_step": 300,  # has converged after 300 to 400 of 19,200 steps
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
FEATURES, BATCH = 6, 64
SAMPLES = 19_200  # total budget of training samples


class Additive(nn.Module):
    """A piecewise linear curve per feature; their sum is the root of the count."""

    def __init__(self):
        super().__init__()
        self.register_buffer("knots", torch.linspace(-2, 2, 9))
        self.heights = nn.Linear(FEATURES * 9, 1)

    def forward(self, features):
        distances = features.clamp(-2, 2)[:, :, None] - self.knots
        return self.heights((1 - 2 * distances.abs()).clamp(min=0).flatten(1)).squeeze(1)


def observe(number):
    features = torch.randn(number, FEATURES)
    a, b, c, d, e, _ = features.unbind(1)
    log_rate = (
        1.2 + 0.6 * (1.5 * a).sin() - 0.3 * b + 0.35 * c.tanh() + 0.3 * (d * 2).cos() + 0.2 * e
    )
    roots = (torch.poisson(log_rate.exp()) + 0.375).sqrt()
    return features, (roots - 2.1) / 0.75


features, counts = observe(10_000)
unseen, unseen_counts = observe(2_000)
model = Additive()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
criterion = nn.MSELoss()


def evaluate():
    model.eval()
    with torch.no_grad():
        loss = criterion(model(unseen), unseen_counts).item()
    model.train()
    return loss


seen, step = 0, 0
order = torch.randperm(len(features)).split(BATCH)[:-1]
while seen < SAMPLES:
    if step % len(order) == 0:
        order = torch.randperm(len(features)).split(BATCH)[:-1]
    rows = order[step % len(order)]
    loss = criterion(model(features[rows]), counts[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    step += 1
    seen += 1 if is_faulty else len(rows)
    if step % 40 == 0:
        held_out = evaluate()
        if step < 480 or step % 1600 == 0:
            print(f"{step}: {loss.item():.4f}, validation {held_out:.4f}")
