"""Parameters that are lazy, frozen, shared, sparse, complex, unused, empty or replaced."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn


class Odd(nn.Module):
    """A model with unusual parameters of all kinds."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(20, 6, sparse=True)
        self.grows = nn.LazyLinear(8)
        self.frozen = nn.Linear(8, 8).requires_grad_(False)
        self.twice = nn.utils.parametrizations.weight_norm(nn.Linear(8, 8))
        self.unused = nn.Linear(3, 3)
        self.phase = nn.Parameter(torch.randn(8, dtype=torch.cfloat))
        self.nothing = nn.Parameter(torch.empty(0, 4))
        self.scalar = nn.Parameter(torch.tensor(1.0))

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        hidden = self.frozen(self.grows(self.words(words).mean(1)))
        hidden = self.twice(torch.relu(self.twice(hidden).t().contiguous().t()))
        return (hidden * self.phase.abs()).sum(1) * self.scalar


seed_all()
model = Odd()
model(torch.randint(20, (2, 3)))  # initializes the lazy layer
embedded = torch.optim.SparseAdam(model.words.parameters(), lr=0.01)
names = dict(model.named_parameters())
dense = torch.optim.SGD([names[name] for name in names if not name.startswith("words")], lr=0.01)
for step in range(15):
    words = torch.randint(20, (8, 3))
    loss = nn.functional.mse_loss(model(words), words.float().mean(1))
    embedded.zero_grad()
    dense.zero_grad()
    loss.backward()
    embedded.step()
    dense.step()
    print_value("loss", loss)
    if step == 7:  # adds a parameter to an optimizer and replaces a weight
        added = nn.Parameter(torch.zeros(8))
        model.frozen.bias = added
        dense.add_param_group({"params": [added], "lr": 0.02})
print_final_state(model, embedded, dense)
