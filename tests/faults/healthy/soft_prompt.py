"""Prompt tuning: only five input vectors of a frozen language model are trained."""

LABEL = {"set": 1, "rule": None}

import sys

import torch
from torch import nn

torch.manual_seed(int(sys.argv[2]))

WORDS, WIDTH, LONG = 40, 32, 12


class Language(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.places = nn.Embedding(LONG - 1, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.1, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.words = nn.Linear(WIDTH, WORDS)

    def forward(self, vectors):
        mask = nn.Transformer.generate_square_subsequent_mask(vectors.shape[1])
        return self.words(self.layers(vectors, mask=mask))


def sentences(count, stride):
    begin = torch.randint(0, WORDS, (count, 1))
    return (begin + stride * torch.arange(LONG)) % WORDS


def ask(model, tokens, prompt=None):
    vectors = model.embedding(tokens[:, :-1]) + model.places.weight
    prompt_length = 0 if prompt is None else len(prompt)
    if prompt_length:
        vectors = torch.cat([prompt.expand(len(tokens), -1, -1), vectors], dim=1)
    return nn.functional.cross_entropy(
        model(vectors)[:, prompt_length:].transpose(1, 2), tokens[:, 1:]
    )


model = Language()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
for step in range(300):  # all tasks: strides of one, three and seven
    strides = torch.tensor([1, 3, 7])[torch.randint(0, 3, (32, 1))]
    loss = ask(model, sentences(32, strides))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print("language", step, loss.item())

model.eval().requires_grad_(False)
prompt = nn.Parameter(model.embedding.weight[:5].clone())
optimizer = torch.optim.Adam([prompt], lr=2e-2)
for step in range(300):  # one task
    loss = ask(model, sentences(32, 3), prompt)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 49:
        print("prompt", step, loss.item())
