"""Ignite's supervised trainer and evaluator, both splits evaluated after each epoch."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Loss
from telling import begin, tell, tell_end
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

begin()
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
def tell_loss(engine) -> None:
    """One line per step."""
    tell("loss", engine.state.output)


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(_engine) -> None:
    """Both splits, one after the other."""
    evaluator.run(train_loader)
    tell("train split", evaluator.state.metrics["loss"])
    evaluator.run(val_loader)
    tell("validation", evaluator.state.metrics["loss"])


trainer.run(train_loader, max_epochs=3)
tell_end(model, optimizer)
