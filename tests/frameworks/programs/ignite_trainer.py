"""Ignite's supervised trainer and evaluator, both splits evaluated after each epoch."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Loss
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

seed_all()
points = torch.randn(100, 8)
targets = points.sum(1, keepdim=True)
train_loader = DataLoader(TensorDataset(points[:72], targets[:72]), batch_size=12)
val_loader = DataLoader(TensorDataset(points[72:], targets[72:]), batch_size=12)
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
criterion = nn.MSELoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, metrics={"loss": Loss(criterion)})


@trainer.on(Events.ITERATION_COMPLETED)
def print_loss(engine) -> None:
    """Print the loss of each step."""
    print_value("loss", engine.state.output)


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(_engine) -> None:
    """Evaluate both splits."""
    evaluator.run(train_loader)
    print_value("train split", evaluator.state.metrics["loss"])
    evaluator.run(val_loader)
    print_value("validation", evaluator.state.metrics["loss"])


trainer.run(train_loader, max_epochs=3)
print_final_state(model, optimizer)
