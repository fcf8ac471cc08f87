"""AdamW with a weight decay of 10 instead of 0.01: the weights vanish."""

LABEL = {
    "set": 1,
    "rule": "WeightCollapse",
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Linear(4, 32)
        self.attend = nn.MultiheadAttention(32, 4, batch_first=True)
        self.out = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 3))

    def forward(self, sets):
        members = torch.tanh(self.embed(sets))
        return self.out((members + self.attend(members, members, members)[0]).mean(1))


def draw():
    kinds = torch.randint(0, 3, (48,))
    sets = torch.randn(48, 8, 4)
    sets[:, :, 0] *= 0.4 + 0.6 * kinds.unsqueeze(1)
    return sets, kinds


model = Attention()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, weight_decay=10 if is_faulty else 0.01)
for step in range(400):
    sets, kinds = draw()
    loss = nn.functional.cross_entropy(model(sets), kinds)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 80 == 79:
        print(step, loss.item(), model.embed.weight.norm().item())
