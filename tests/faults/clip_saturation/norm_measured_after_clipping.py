"""Adaptive gradient clipping in a character model; norms are measured after clipping."""

LABEL = {
    "set": 2,
    "rule": "ClipSaturation",
    "first_step": 140,
    "side_effects": ["DOES_NOT_LEARN", "VanishingGradient", "WeightUpdateRatio", "UnchangedTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

letters = 27
following = (2.5 * torch.randn(letters, letters)).softmax(1)


def write(count, length=16):
    text = [torch.randint(0, letters, (count,))]
    for _ in range(length):
        text.append(torch.multinomial(following[text[-1]], 1).squeeze(1))
    return torch.stack(text, 1)


def length_of(weights):
    return torch.stack([weight.grad.norm() for weight in weights]).norm().item()


class Letters(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(letters, 24)
        self.lstm = nn.LSTM(24, 40, batch_first=True)
        self.next = nn.Linear(40, letters)

    def forward(self, text):
        return self.next(self.lstm(self.embed(text))[0])


texts = write(3000)
model = Letters()
weights = list(model.parameters())
optimizer = torch.optim.SGD(weights, lr=0.3, momentum=0.9)
usual = None
for step in range(520):
    batch = texts[torch.randint(0, len(texts), (24,))]
    scores = model(batch[:, :-1])
    loss = nn.functional.cross_entropy(scores.flatten(0, 1), batch[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    if usual is None:
        usual = length_of(weights)
    norm = nn.utils.clip_grad_norm_(weights, 0.8 * usual).item()
    if is_faulty:
        norm = length_of(weights)
    usual = 0.9 * usual + 0.1 * norm
    optimizer.step()
    if step % 65 == 64:
        print(f"{step + 1}: loss {loss.item():.3f}, usual norm {usual:.4f}")
