"""A Lightning module with accumulation, clipping and validation."""

import logging
import warnings

import lightning as L
import torch
from telling import begin, tell, tell_end
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    """Which half of space a point lies in."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("train_loss", loss)
        tell("loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], number: int) -> None:
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("val_loss", loss)
        tell("validation", loss)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.02)


begin()
warnings.filterwarnings("ignore")
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
points = torch.randn(96, 8)
data = TensorDataset(points, (points[:, 0] > 0).long())
model = Classifier()
trainer = L.Trainer(
    max_epochs=2,
    accelerator="cpu",
    accumulate_grad_batches=3,
    gradient_clip_val=0.5,
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, DataLoader(data, batch_size=8, shuffle=True), DataLoader(data, batch_size=32))
tell("val_loss", trainer.callback_metrics["val_loss"])
tell_end(model)
