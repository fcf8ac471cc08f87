"""A Lightning module with accumulation, clipping and validation."""

import logging
import warnings

import lightning as L
import torch
from reporting import print_final_state, print_value, seed_all
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Classifier(L.LightningModule):
    """Classifies points by half-space."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 2))

    def training_step(self, batch: list[torch.Tensor], number: int) -> torch.Tensor:
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("train_loss", loss)
        print_value("loss", loss)
        return loss

    def validation_step(self, batch: list[torch.Tensor], number: int) -> None:
        loss = nn.functional.cross_entropy(self.layers(batch[0]), batch[1])
        self.log("val_loss", loss)
        print_value("validation", loss)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.02)


seed_all()
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
print_value("val_loss", trainer.callback_metrics["val_loss"])
print_final_state(model)
