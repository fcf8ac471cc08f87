"""A deep Q-network learns to catch falling balls from a replay memory."""

LABEL = {"set": 6, "rule": None}

import random
import sys

import torch
from torch import nn

seed = int(sys.argv[2])
torch.manual_seed(seed)
random.seed(seed)
SIDE, GAMES, ROOM = 8, 16, 6000


class Court:
    """Sixteen parallel games: a ball falls, and a racket moves left, stays or moves right."""

    def __init__(self):
        self.row = torch.randint(0, SIDE - 1, (GAMES,))
        self.ball = torch.randint(0, SIDE, (GAMES,))
        self.racket = torch.randint(0, SIDE, (GAMES,))

    def view(self):
        board = torch.zeros(GAMES, 2, SIDE, SIDE)
        games = torch.arange(GAMES)
        board[games, 0, self.row, self.ball] = 1
        board[games, 1, SIDE - 1, self.racket] = 1
        return board * 4

    def play(self, moves):
        self.racket = (self.racket + moves - 1).clamp(0, SIDE - 1)
        self.row = self.row + 1
        over = self.row == SIDE - 1
        reward = over * (1.0 - 2.0 * (self.racket != self.ball))
        self.row[over] = 0
        self.ball[over] = torch.randint(0, SIDE, (int(over.sum()),))
        return reward, over


def player():
    return nn.Sequential(nn.Flatten(), nn.Linear(2 * SIDE * SIDE, 96), nn.ReLU(), nn.Linear(96, 3))


model, target = player(), player()
target.load_state_dict(model.state_dict())
target.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=7e-4)
court, memory, position = Court(), [], 0
board = court.view()
won = []
for step in range(1500):
    boldness = max(0.05, 1 - step / 700)
    with torch.no_grad():
        moves = model(board).argmax(1)
    moves = torch.where(torch.rand(GAMES) < boldness, torch.randint(0, 3, (GAMES,)), moves)
    reward, over = court.play(moves)
    after = court.view()
    for entry in zip(board, moves, reward, after, over, strict=False):
        if len(memory) < ROOM:
            memory.append(entry)
        else:
            memory[position] = entry
            position = (position + 1) % ROOM
    won += reward[over].tolist()
    board = after
    if step < 30:
        continue
    seen, moved, earned, then, ended = (
        torch.stack(part) for part in zip(*random.sample(memory, 64), strict=False)
    )
    with torch.no_grad():
        worth = earned + 0.9 * target(then).max(1).values * ~ended
    loss = nn.functional.smooth_l1_loss(model(seen).gather(1, moved[:, None]).squeeze(1), worth)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 100 == 99:
        target.load_state_dict(model.state_dict())
        print(f"{step + 1}: loss {loss.item():.4f}, won {sum(won[-200:]) / 200:.2f} of a game")
