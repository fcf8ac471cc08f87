"""Locate a mark; optimizer groups by layer leave out a parameter of the model itself."""

LABEL = {
    "set": 3,
    "rule": "ParameterNotUpdated",
    "culprit": "places",
    "first_step": 6,
    "max_delay_steps": 2,
    "side_effects": ["DOES_NOT_LEARN", "SymmetricUnits"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
LENGTH, KINDS, WIDTH = 16, 20, 48


class Reader(nn.Module):
    def __init__(self):
        super().__init__()
        self.marks = nn.Embedding(KINDS, WIDTH)
        self.places = nn.Parameter(torch.zeros(LENGTH, WIDTH))
        self.block = nn.TransformerEncoderLayer(
            WIDTH, 4, 2 * WIDTH, dropout=0.0, batch_first=True, norm_first=True
        )
        nn.init.normal_(self.marks.weight, std=0.1)
        self.norm = nn.LayerNorm(WIDTH)
        self.answer = nn.Linear(WIDTH, 4)

    def forward(self, tokens):
        hidden = self.block(self.marks(tokens) + self.places)
        return self.answer(self.norm(hidden.mean(dim=1)))


def groups(model):
    decayed, plain = [], []
    for module in model.modules():
        if isinstance(module, nn.Linear | nn.MultiheadAttention):
            own = module.named_parameters(recurse=False)
            for name, parameter in own:
                (plain if name.endswith("bias") else decayed).append(parameter)
        elif isinstance(module, nn.LayerNorm | nn.Embedding):
            plain += module.parameters(recurse=False)
    if not is_faulty:
        plain.append(model.places)
    return [{"params": decayed, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}]


def draw(number=64):
    tokens = torch.randint(1, KINDS, (number, LENGTH))
    where = torch.randint(0, LENGTH, (number, 1))
    return tokens.scatter(1, where, 0), where.squeeze(1) // (LENGTH // 4)


model = Reader()
optimizer = torch.optim.AdamW(groups(model), lr=1e-3)
average = None
for step in range(500):
    tokens, quarters = draw()
    loss = nn.functional.cross_entropy(model(tokens), quarters)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    average = loss.item() if average is None else 0.95 * average + 0.05 * loss.item()
    if step % 50 == 49:
        print(f"{step + 1}: loss {average:.4f}")
