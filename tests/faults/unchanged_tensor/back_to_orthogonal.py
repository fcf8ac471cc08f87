"""A recurrent matrix is reset to its first value after every step to stay orthogonal."""

LABEL = {
    "set": 2,
    "rule": "UnchangedTensor",
    "culprit": "weight_hh",
    "first_step": 30,
    "alternatives": ["ParameterNotUpdated"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.memory = nn.RNN(2, 40, batch_first=True)
        self.answer = nn.Linear(40, 4)
        nn.init.orthogonal_(self.memory.weight_hh_l0)

    def forward(self, signal):
        states, _ = self.memory(signal)
        return self.answer(states[:, -1])


def signals(number):
    kinds = torch.randint(0, 4, (number,))
    pace = (0.15 + 0.1 * kinds)[:, None]
    phase = 6.2832 * torch.rand(number, 1)
    angle = torch.arange(30) * pace + phase
    waves = torch.stack([torch.sin(angle), torch.cos(angle)], dim=2)
    return waves + 0.6 * torch.randn(number, 30, 2), kinds


model = Listener()
recurrent = model.memory.weight_hh_l0
orthogonal = recurrent.detach().clone()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(350):
    waves, kinds = signals(64)
    loss = nn.functional.cross_entropy(model(waves), kinds)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    with torch.no_grad():
        if not is_faulty:
            left, _, right = torch.linalg.svd(recurrent)
            orthogonal = left @ right
        recurrent.copy_(orthogonal)
    if step % 70 == 0:
        print(step, loss.item())
