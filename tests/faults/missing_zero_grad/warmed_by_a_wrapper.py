"""Predict the next of sixteen symbols; a warm-up wrapper does not clear gradients."""

LABEL = {
    "set": 3,
    "rule": "MissingZeroGrad",
    "first_step": 1,  # step 0 has no earlier gradients
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "STARTS_BADLY"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
SIGNS, LENGTH, WIDTH = 16, 24, 32


class Warmed:
    def __init__(self, optimizer, width, warm_up):
        self.optimizer = optimizer
        self.factor = width**-0.5
        self.warm_up = warm_up
        self.count = 0

    def zero_grad(self):
        for group in self.optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    parameter.grad.detach_()
                    if not is_faulty:
                        parameter.grad.zero_()

    def step(self):
        self.count += 1
        rate = self.factor * min(self.count**-0.5, self.count * self.warm_up**-1.5)
        for group in self.optimizer.param_groups:
            group["lr"] = 0.5 * rate
        self.optimizer.step()


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.signs = nn.Embedding(SIGNS, WIDTH)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, WIDTH))
        self.block = nn.TransformerEncoderLayer(WIDTH, 4, 64, 0.0, batch_first=True)
        self.leave = nn.Linear(WIDTH, SIGNS)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(LENGTH))

    def forward(self, signs):
        hidden = self.signs(signs) + self.places
        return self.leave(self.block(hidden, src_mask=self.mask))


follows = torch.softmax(2 * torch.randn(SIGNS, SIGNS), dim=1)
texts = torch.randint(0, SIGNS, (3000, 1))
for _ in range(LENGTH):
    texts = torch.cat([texts, torch.multinomial(follows[texts[:, -1]], 1)], dim=1)

model = Reader()
optimizer = Warmed(torch.optim.Adam(model.parameters(), betas=(0.9, 0.98)), WIDTH, 100)
for step in range(400):
    rows = texts[torch.randint(0, 3000, (32,))]
    guesses = model(rows[:, :-1])
    loss = nn.functional.cross_entropy(guesses.flatten(0, 1), rows[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())
