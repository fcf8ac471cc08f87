"""A small language model; warm-up and decay end after a tenth of the training."""

LABEL = {
    "set": 1,
    "rule": "LearningRateCollapse",
    "side_effects": ["WeightUpdateRatio", "DOES_NOT_LEARN"],
}

import sys

import torch
from torch import nn

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

WORDS, LENGTH, EPOCHS, STEPS = 40, 16, 10, 40


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(WORDS, 32)
        self.places = nn.Embedding(LENGTH, 32)
        self.block = nn.TransformerEncoderLayer(32, 4, 64, 0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(32, WORDS)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1]))
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.block(x, src_mask=mask, is_causal=True))


following = torch.randperm(WORDS)
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
planned = STEPS if is_faulty else STEPS * EPOCHS


def factor(step):
    if step < planned // 10:
        return (step + 1) / (planned // 10)
    return max(0.0, (planned - step) / (planned - planned // 10))


scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, factor)
for epoch in range(EPOCHS):
    for _ in range(STEPS):
        text = [torch.randint(0, WORDS, (16,))]
        for _ in range(LENGTH):
            is_noise = torch.rand(16) < 0.2
            text.append(torch.where(is_noise, torch.randint(0, WORDS, (16,)), following[text[-1]]))
        tokens = torch.stack(text, dim=1)
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        scheduler.step()
    print(epoch, loss.item())
