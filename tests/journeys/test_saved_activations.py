"""Requested activations, labels and losses of an unchanged script are recorded."""

import numpy as np

from sonde.client.job import open_job
from tests.journeys.sonde_cli import Sonde

SCRIPT = """
import numpy, torch
from torch import nn
from torch.nn import functional as F

class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.relu = nn.Linear(4, 4), nn.ReLU(inplace=True)
    def forward(self, batch):
        return torch.tanh(self.relu(self.layer(batch)))

torch.manual_seed(0)
model = nn.Sequential(Block(), Block(), nn.Linear(4, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    points = torch.randn(8, 4)
    hidden = model[0].layer(points).detach()  # as the script sees it
    F.cross_entropy(model(points), points[:, 0].gt(0).long()).backward()
    optimizer.step()
    numpy.save(f"input_{step}", hidden.numpy())
model.eval()
with torch.no_grad():
    losses = [float(F.cross_entropy(model(points), points[:, 0].gt(0).long())) for _ in range(2)]
numpy.save("losses", losses)
"""


def test_activations_labels_and_losses_of_an_unchanged_script_are_recorded(
    sonde: Sonde, torch_python: tuple[str, ...]
) -> None:
    saves = ("--save", "relu_input:every=2,values", "--save", "mine:include=tanh_output|^labels")
    done = sonde.run("run", "--quiet", "--name", "job", *saves, *torch_python, "-c", SCRIPT)
    assert (done.returncode, done.stderr) == (0, b"")
    job = open_job(str(sonde.job_folder("job")))

    for step in (0, 2, 4):
        expected = np.load(sonde.folder / f"input_{step}.npy")
        assert np.array_equal(job.tensor("0.relu_input_0").value(step), expected)
    assert {"1.relu_input_0", "0.tanh_output_0", "1.tanh_output_0", "labels"} <= set(job.tensors())
    rows = job.scalars("loss", mode="eval").to_arrow().to_pylist()
    losses = np.load(sonde.folder / "losses.npy").tolist()
    assert [(row["step"], row["value"]) for row in rows] == list(enumerate(losses))
