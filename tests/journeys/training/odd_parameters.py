"""Parameters that are lazy, frozen, shared, sparse, complex, unused, empty or replaced."""

import torch
from telling import begin, tell, tell_end
from torch import nn


class Odd(nn.Module):
    """Nothing here is usual."""

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


begin()
model = Odd()
model(torch.randint(20, (2, 3)))  # makes the lazy layer
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
    tell("loss", loss)
    if step == 7:  # an optimizer that gets one more, a weight that is another from now on
        late = nn.Parameter(torch.zeros(8))
        model.frozen.bias = late
        dense.add_param_group({"params": [late], "lr": 0.02})
tell_end(model, embedded, dense)
