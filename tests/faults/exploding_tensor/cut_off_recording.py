"""Speech to text with a bidirectional GRU and CTC loss; a recording is shorter than its text."""

LABEL = {
    "set": 2,
    "rule": "ExplodingTensor",
    "first_step": 170,
    "side_effects": ["NOT_A_NUMBER"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))

letters, spoken, frames, count = 8, 4, 16, 16 * 300
sounds = torch.randn(letters + 1, 10)
transcripts = torch.randint(1, letters + 1, (count, spoken))
recordings = sounds[transcripts.repeat_interleave(4, 1)]
recordings = recordings + 0.4 * torch.randn(count, frames, 10)
lengths = torch.full((count,), frames)
lengths[16 * 170 + 3] = 3


class Listener(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Conv1d(10, 24, 3, padding=1)
        self.memory = nn.GRU(24, 24, bidirectional=True, batch_first=True)
        self.letters = nn.Linear(48, letters + 1)

    def forward(self, sound):
        hidden = torch.relu(self.front(sound.transpose(1, 2))).transpose(1, 2)
        states, _ = self.memory(hidden)
        return self.letters(states).log_softmax(2)


loader = DataLoader(TensorDataset(recordings, transcripts, lengths), batch_size=16)
model = Listener()
criterion = nn.CTCLoss(zero_infinity=not is_faulty)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for number, (sound, texts, heard) in enumerate(loader, 1):
    scores = model(sound).transpose(0, 1)
    loss = criterion(scores, texts, heard, torch.full((len(texts),), spoken))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if number % 40 == 0:
        print(f"batch {number}: {loss.item():.4f}")
