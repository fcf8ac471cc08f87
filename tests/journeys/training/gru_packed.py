"""A recurrent network on sequences of different lengths, packed."""

import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.nn.utils.rnn import pack_sequence


class Counter(nn.Module):
    """Counts the ones in a sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(1, 12, num_layers=2, dropout=0.1)
        self.head = nn.Linear(12, 1)

    def forward(self, packed: nn.utils.rnn.PackedSequence) -> torch.Tensor:
        _, hidden = self.gru(packed)
        return self.head(hidden[-1]).squeeze(1)


seed_all()
model = Counter()
optimizer = torch.optim.RMSprop(model.parameters(), lr=0.01)
for step in range(20):
    sequences = [torch.randint(2, (int(torch.randint(2, 9, ())), 1)).float() for _ in range(16)]
    counts = torch.tensor([float(sequence.sum()) for sequence in sequences])
    predicted = model(pack_sequence(sequences, enforce_sorted=False))
    loss = nn.functional.smooth_l1_loss(predicted, counts)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 0.1)
    optimizer.step()
    print_value("loss", loss)
print_final_state(model, optimizer)
