"""Cross-validation; training counts folds from one, validation from zero."""

LABEL = {
    "set": 3,
    "rule": "ValidationTooGood",
    "first_step": 50,
}

import sys

import torch
from sklearn.datasets import make_classification
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

is_faulty = sys.argv[1] == "faulty"
seed = int(sys.argv[2])
torch.manual_seed(seed)
FOLD = 2

features, classes = make_classification(
    n_samples=4000,
    n_features=24,
    n_informative=10,
    n_redundant=4,
    n_classes=4,
    class_sep=1.2,
    flip_y=0.05,
    random_state=seed,
)
features = torch.tensor(features, dtype=torch.float32)
features = (features - features.mean(0)) / features.std(0)
dataset = TensorDataset(features, torch.tensor(classes))
folds = torch.randperm(len(dataset)) % 5

validation = Subset(dataset, torch.where(folds == FOLD)[0].tolist())
left_out = FOLD + 1 if is_faulty else FOLD
train = Subset(dataset, torch.where(folds != left_out)[0].tolist())
train_loader = DataLoader(train, 64, shuffle=True)
validation_loader = DataLoader(validation, 200)

model = nn.Sequential(
    *(nn.Linear(24, 128), nn.ReLU(), nn.Dropout(0.1)),
    *(nn.Linear(128, 64), nn.ReLU()),
    nn.Linear(64, 4),
)
optimizer = torch.optim.AdamW(model.parameters(), lr=7e-4, weight_decay=0.02)
criterion = nn.CrossEntropyLoss()
for epoch in range(10):
    model.train()
    total = 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    model.eval()
    held_out, hits = 0.0, 0
    with torch.no_grad():
        for x, y in validation_loader:
            scores = model(x)
            held_out += criterion(scores, y).item()
            hits += (scores.argmax(1) == y).sum().item()
    print(
        f"epoch {epoch}: train {total / len(train_loader):.3f}, "
        f"validation {held_out / len(validation_loader):.3f}, right {hits / len(validation):.3f}"
    )
