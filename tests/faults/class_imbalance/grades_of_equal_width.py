"""Grade river water from measurements; grades of equal width leave some with few samples."""

LABEL = {
    "set": 7,
    "rule": "ClassImbalance",
    "side_effects": ["Overfit", "Overtraining"],
}

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))
torch.set_num_threads(1)
COLUMNS, GRADES, WIDTH = 9, 4, 24


def measure(number):
    columns = torch.randn(number, COLUMNS)
    a, b, c, d, e = columns.unbind(1)[:5]
    burden = 0.5 * a + 0.4 * b * c + 0.4 * d.tanh() - 0.3 * e + 0.3 * torch.randn(number)
    return columns, (0.8 * burden).exp()


class TokenPerColumn(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(0.5 * torch.randn(COLUMNS, WIDTH))
        self.shift = nn.Parameter(0.5 * torch.randn(COLUMNS, WIDTH))
        layer = nn.TransformerEncoderLayer(
            WIDTH, 4, 64, dropout=0.1, batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Sequential(nn.LayerNorm(WIDTH), nn.Linear(WIDTH, GRADES))

    def forward(self, columns):
        return self.head(self.body(columns[:, :, None] * self.scale + self.shift).mean(1))


columns, burden = measure(5000)
unseen, unseen_burden = measure(1000)
if is_faulty:
    edges = torch.linspace(burden.min(), burden.max(), GRADES + 1)[1:-1]
else:
    edges = burden.quantile(torch.arange(1, GRADES) / GRADES)
grades, unseen_grades = torch.bucketize(burden, edges), torch.bucketize(unseen_burden, edges)
train = DataLoader(TensorDataset(columns, grades), 50, shuffle=True)
validation = DataLoader(TensorDataset(unseen, unseen_grades), 250)
print("rows of each grade:", grades.bincount(minlength=GRADES).tolist())

model = TokenPerColumn()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.01)
criterion = nn.CrossEntropyLoss()
for epoch in range(6):
    model.train()
    total = 0.0
    for row, grade in train:
        loss = criterion(model(row), grade)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item() / len(train)
    model.eval()
    held_out, right = 0.0, 0
    hits = torch.zeros(GRADES, dtype=torch.long)
    with torch.no_grad():
        for row, grade in validation:
            output = model(row)
            held_out += criterion(output, grade).item() / len(validation)
            hit = output.argmax(1) == grade
            right += hit.sum().item()
            hits += grade[hit].bincount(minlength=GRADES)
    print(
        f"epoch {epoch}: {total:.4f}, validation {held_out:.4f}, {right / 1000:.1%} right,"
        f" found {hits.tolist()} of {unseen_grades.bincount(minlength=GRADES).tolist()}"
    )
