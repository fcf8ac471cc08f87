"""Recognize six spoken words; the bias multiplier is used as the learning rate of biases."""

LABEL = {
    "set": 7,
    "rule": "DeadRelu",
    "first_step": 1,  # most units of all layers are inactive within 10 to 20 steps
    "side_effects": [
        "DOES_NOT_LEARN",
        "NOT_A_NUMBER",
        "VanishingGradient",
        "WeightUpdateRatio",
        "ClassImbalance",
        "NoGradient",
        "UnchangedTensor",
        "ParameterNotUpdated",
    ],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
WORDS, BANDS, FRAMES = 6, 16, 20
RATE, BIAS_MULTIPLIER = 1e-3, 2.0  # as in the old solver: biases learn twice as fast
patterns = torch.randn(WORDS, BANDS, FRAMES)
patterns = nn.functional.avg_pool2d(patterns[:, None], 3, 1, 1)[:, 0] * 3


def spoken(number):
    word = torch.randint(0, WORDS, (number,))
    sound = patterns[word]
    shift = torch.randint(-2, 3, (number,))
    sound = torch.stack(
        [row.roll(int(offset), 1) for row, offset in zip(sound, shift, strict=True)]
    )
    sound = sound + 2 * torch.randn(number, BANDS, FRAMES)
    return TensorDataset(sound[:, None] / 2.3, word)


model = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AvgPool2d(2)),
    *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()),
    *(nn.Conv2d(32, 32, 3, padding=1), nn.ReLU()),
    *(nn.Flatten(), nn.Linear(32 * 4 * 5, WORDS)),
)
for module in model:
    if isinstance(module, nn.Conv2d | nn.Linear):
        nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
        nn.init.zeros_(module.bias)
weights = [p for name, p in model.named_parameters() if name.endswith("weight")]
biases = [p for name, p in model.named_parameters() if name.endswith("bias")]
optimizer = torch.optim.Adam(
    [
        {"params": weights, "lr": RATE},
        {"params": biases, "lr": BIAS_MULTIPLIER if is_faulty else RATE * BIAS_MULTIPLIER},
    ],
)
criterion = nn.CrossEntropyLoss()
loader = DataLoader(spoken(3200), 64, shuffle=True)
test = DataLoader(spoken(600), 200)
for epoch in range(6):
    model.train()
    total = 0.0
    for step, (sound, word) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(sound), word)
        loss.backward()
        optimizer.step()
        total += loss.item()
        if epoch == 0 and step % 5 == 0:
            print(f"  {step}: {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        result = sum(criterion(model(x), y).item() for x, y in test) / len(test)
    print(f"epoch {epoch}: {total / len(loader):.4f}, test {result:.4f}")
