"""Weights updated by the script itself, with an evaluation every ten steps."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Words(nn.Module):
    """Predicts the next of twelve words."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(12, 8)
        self.recurrent = nn.LSTM(8, 16, batch_first=True)
        self.decoder = nn.Linear(16, 12)

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden, _ = self.recurrent(self.embedding(words))
        return self.decoder(hidden)


def loss_of(words: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten())


seed_all()
model = Words()
rate = 0.5
for step in range(30):
    first = torch.randint(0, 12, (8, 1))
    loss = loss_of((first + torch.arange(9)) % 12)
    model.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.25)
    for parameter in model.parameters():
        parameter.data.add_(parameter.grad, alpha=-rate)
    print_value("loss", loss)
    if step % 10 == 9:
        model.eval()
        with torch.no_grad():
            print_value("evaluation", loss_of((first + torch.arange(9)) % 12))
        model.train()
        rate /= 2
print_final_state(model)
