"""Lightning: EEG in volts, although the model expects microvolts."""

LABEL = {
    "set": 1,
    "rule": "InputNotNormalized",
    "side_effects": ["STARTS_BADLY", "DOES_NOT_LEARN", "VanishingGradient", "DeadRelu"],
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


class Sleep(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.waves = nn.Conv1d(4, 24, 15, stride=2)
        self.shapes = nn.Conv1d(24, 24, 7, stride=2)
        self.out = nn.Linear(24, 3)

    def forward(self, volts):
        features = torch.relu(self.shapes(torch.relu(self.waves(volts))))
        return self.out(features.amax(2))

    def training_step(self, batch, index):
        return nn.functional.cross_entropy(self(batch[0]), batch[1])

    def validation_step(self, batch, index):
        print(self.global_step, nn.functional.cross_entropy(self(batch[0]), batch[1]).item())

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


stages = torch.randint(0, 3, (2000,))
times = torch.arange(128) / 64 + torch.rand(2000, 4, 1)
rhythm = torch.tensor([3.0, 9.0, 18.0])[stages].view(-1, 1, 1)
volts = 2e-5 * (torch.sin(2 * torch.pi * rhythm * times) + 1.2 * torch.randn(2000, 4, 128))
recorded = volts if is_faulty else volts * 1e6 / 30
train = TensorDataset(recorded[:1600], stages[:1600])
valid = TensorDataset(recorded[1600:], stages[1600:])
trainer = lightning.Trainer(
    max_epochs=6,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    num_sanity_val_steps=0,
    default_root_dir=tempfile.mkdtemp(),
)
loader = DataLoader(train, batch_size=32, shuffle=True)
trainer.fit(Sleep(), loader, DataLoader(valid, batch_size=400))
