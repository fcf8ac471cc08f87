"""Two towers with an optimizer each; gradients of the song tower are not cleared."""

LABEL = {
    "set": 6,
    "rule": "MissingZeroGrad",
    "first_step": 1,
    "max_delay_steps": 20,
    "side_effects": [
        "LossDiverging",
        "LossSpike",
        "GradientNormSpike",
        "LossNotDecreasing",
        "WeightUpdateRatio",
        "DeadRelu",
    ],
}

import sys

import torch
from torch import nn
from torch.nn import functional as F

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LISTENER, SONG, TASTE = 24, 18, 16
STEPS, BATCH = 700, 128

hidden_listener = torch.randn(LISTENER, 6) / LISTENER**0.5
hidden_song = torch.randn(SONG, 6) / SONG**0.5


def meetings(number):
    listener = torch.randn(number, LISTENER)
    song = torch.randn(number, SONG)
    fit = (torch.tanh(1.5 * listener @ hidden_listener) * torch.tanh(1.5 * song @ hidden_song)).sum(
        1
    )
    likes = torch.rand(number) < torch.sigmoid(4 * fit)
    return listener, song, likes.float()


def tower(width):
    return nn.Sequential(nn.Linear(width, 48), nn.ReLU(), nn.Linear(48, TASTE))


listeners = tower(LISTENER)
songs = tower(SONG)
listener_optimizer = torch.optim.Adam(listeners.parameters(), lr=1e-3)
song_optimizer = torch.optim.SGD(songs.parameters(), lr=0.05, momentum=0.9)


def score(listener, song):
    return (listeners(listener) * songs(song)).sum(1)


history = meetings(40_000)
check = meetings(2000)
total = 0.0
for step in range(STEPS):
    rows = torch.randint(0, 40_000, (BATCH,))
    listener, song, likes = (column[rows] for column in history)
    listener_optimizer.zero_grad()
    if not is_faulty:
        song_optimizer.zero_grad()
    loss = F.binary_cross_entropy_with_logits(score(listener, song), likes)
    loss.backward()
    listener_optimizer.step()
    song_optimizer.step()
    total += loss.item()
    if step % 70 == 69:
        print(f"{step + 1}: {total / 70:.4f}")
        total = 0.0
with torch.no_grad():
    held_out = F.binary_cross_entropy_with_logits(score(*check[:2]), check[2])
print(f"held out {held_out.item():.4f}")
