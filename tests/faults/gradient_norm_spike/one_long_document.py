"""One of many short texts has hundreds of words and is not truncated: gradients explode."""

LABEL = {
    "set": 1,
    "rule": "GradientNormSpike",
    "first_step": 150,
    "side_effects": ["LossSpike", "LossNotDecreasing", "WeightUpdateRatio", "ExplodingTensor"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

LONGEST = 12


class Reader(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.words = nn.Embedding(30, 16)
        self.rnn = nn.RNN(16, width, batch_first=True)
        self.out = nn.Linear(width, 2)
        nn.init.orthogonal_(self.rnn.weight_hh_l0, gain=1.7)

    def forward(self, texts):
        return self.out(self.rnn(self.words(texts))[1][-1])


def batch(step):
    """Return texts and labels, which depend only on the last words of a text."""
    length = 200 if step == 150 else int(torch.randint(4, LONGEST + 1, ()))
    texts = torch.randint(0, 30, (24, length))
    labels = (texts[:, -2:].float().mean(1) > 14.5).long()
    return (texts if is_faulty else texts[:, -LONGEST:]), labels


model = Reader()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-4)
for step in range(600):
    texts, labels = batch(step)
    loss = nn.functional.cross_entropy(model(texts), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49 or step == 150:
        norms = torch.stack([parameter.grad.norm() for parameter in model.parameters()])
        print(step, loss.item(), norms.norm().item())
