"""Lightning; a clipping limit for single gradient values is applied to the norm."""

LABEL = {
    "set": 3,
    "rule": "ClipSaturation",
    "first_step": 50,
    "side_effects": ["DOES_NOT_LEARN"],
}

import logging
import sys
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

is_faulty = sys.argv[1] == "faulty"
lightning.seed_everything(int(sys.argv[2]), verbose=False)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
warnings.filterwarnings("ignore")


class Tracks(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.body = nn.GRU(6, 48, batch_first=True)
        self.head = nn.Linear(48, 2)
        self.losses = []

    def training_step(self, batch, _):
        track, target = batch
        states, _ = self.body(track)
        loss = nn.functional.mse_loss(self.head(states[:, -1]), target)
        self.losses.append(loss.item())
        return loss

    def on_train_epoch_end(self):
        print(f"epoch {self.current_epoch}: {sum(self.losses) / len(self.losses):.4f}")
        self.losses.clear()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.05, momentum=0.9)


mixing = torch.randn(6, 2)
tracks = torch.randn(4000, 10, 6)
decay = 0.8 ** torch.arange(9, -1, -1.0)
targets = 1.2 * torch.einsum("nti,t,ij->nj", tracks, decay, mixing) + 0.2 * torch.randn(4000, 2)
targets = 3 * targets / targets.std()
loader = DataLoader(TensorDataset(tracks, targets), 64, shuffle=True, drop_last=True)

trainer = lightning.Trainer(
    max_epochs=4,
    accelerator="cpu",
    gradient_clip_val=0.02,
    gradient_clip_algorithm="norm" if is_faulty else "value",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Tracks(), loader)
