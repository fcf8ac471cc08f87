"""Lightning: a StepLR intended for epochs is stepped per batch."""

LABEL = {
    "set": 1,
    "rule": "LearningRateCollapse",
    "side_effects": ["WeightUpdateRatio", "DOES_NOT_LEARN"],
}

import sys
import tempfile
import warnings

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

warnings.filterwarnings("ignore")
is_faulty = sys.argv[1] == "faulty"
torch.manual_seed(int(sys.argv[2]))


class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 48), nn.ReLU(), nn.Linear(48, 3))

    def training_step(self, batch, index):
        points, labels = batch
        return nn.functional.cross_entropy(self.net(points), labels)

    def configure_optimizers(self):
        optimizer = torch.optim.Adam(self.parameters(), lr=2e-3)
        scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5, gamma=0.3)
        interval = "step" if is_faulty else "epoch"
        return [optimizer], [{"scheduler": scheduler, "interval": interval}]


points = torch.randn(2000, 16)
labels = (points @ torch.randn(16, 3)).argmax(1)
loader = DataLoader(TensorDataset(points, labels), batch_size=40, shuffle=True)
trainer = lightning.Trainer(
    max_epochs=5,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    default_root_dir=tempfile.mkdtemp(),
)
trainer.fit(Module(), loader)
