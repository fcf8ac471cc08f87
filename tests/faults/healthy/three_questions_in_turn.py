"""Ship tracks: three tasks share an encoder and take turns."""

LABEL = {"set": 7, "rule": None}

import sys

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
KINDS, BATCH, STEPS, PARTS = 4, 16, 300, 2


def tracks(number):
    """Return tracks of four kinds of ships, which differ in speed and course; some stop."""
    lengths = torch.randint(12, 41, (number,))
    kind = torch.randint(0, KINDS, (number,))
    speed = 0.6 + 0.3 * kind + 0.2 * torch.randn(number)
    rested = torch.rand(number) < 0.5
    since = torch.arange(40) - torch.randint(2, 7, (number, 1))
    turning = torch.tensor([0.45, 0.1, 0.25, 0.05])[kind][:, None]
    course = 6.2832 * torch.rand(number, 1)
    course = course + (turning * torch.randn(number, 40)).cumsum(1)
    pace = speed[:, None] * (1 + 0.15 * torch.randn(number, 40))
    pace = torch.where(rested[:, None] & (since >= 0) & (since < 5), 0.1 * pace, pace)
    steps = torch.stack([course.cos() * pace, course.sin() * pace], 2)
    steps = steps + 0.1 * torch.randn_like(steps)
    steps[torch.arange(40)[None] >= lengths[:, None]] = 0
    answers = {"kind": kind, "speed": (speed - 1.05) / 0.39, "rested": rested.float()}
    return steps, lengths, answers


class Reader(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.look = nn.Sequential(nn.Linear(2, width), nn.GELU(), nn.Linear(width, width))
        self.memory = nn.GRU(width, width, batch_first=True)
        self.heads = nn.ModuleDict(
            {
                "kind": nn.Linear(width, KINDS),
                "speed": nn.Linear(width, 1),
                "rested": nn.Linear(width, 1),
            }
        )

    def forward(self, steps, lengths, question):
        packed = pack_padded_sequence(
            self.look(steps), lengths, batch_first=True, enforce_sorted=False
        )
        seen = pad_packed_sequence(self.memory(packed)[0], batch_first=True, padding_value=-1.0)[0]
        return self.heads[question](seen.amax(1))


losses = {
    "kind": nn.functional.cross_entropy,
    "speed": lambda output, targets: nn.functional.mse_loss(output.squeeze(1), targets),
    "rested": lambda output, targets: nn.functional.binary_cross_entropy_with_logits(
        output.squeeze(1), targets
    ),
}
model = Reader()
optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3, weight_decay=0.01)
pool, pool_lengths, pool_answers = tracks(4000)
unseen, unseen_lengths, unseen_answers = tracks(300)
questions = list(losses)
for step in range(STEPS):
    question = questions[step % len(questions)]
    optimizer.zero_grad()
    for _ in range(PARTS):
        rows = torch.randint(0, len(pool), (BATCH,))
        output = model(pool[rows], pool_lengths[rows], question)
        loss = losses[question](output, pool_answers[question][rows])
        (loss / PARTS).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    if step % 60 == 59:
        model.eval()
        results = []
        with torch.no_grad():
            for name, criterion in losses.items():
                off = criterion(model(unseen, unseen_lengths, name), unseen_answers[name])
                results.append(f"{name} {off.item():.4f}")
        model.train()
        print(f"{step + 1}: {', '.join(results)}")
