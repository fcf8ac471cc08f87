"""Output of a training script is recorded without changing it."""

import json

from tests.journeys.sonde_cli import PYTHON, Sonde

SCRIPT = """
import sys
import torch
print("start", sys.stdout.isatty())
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).square().mean().backward()
    optimizer.step()
    if step % 5 == 0:
        print("step", step)
sys.stderr.write("password=hunter2\\n")
print("no end", end="")
raise ValueError("broken")
"""


def test_output_of_training_is_recorded_with_its_steps_and_secrets_masked(sonde: Sonde) -> None:
    (sonde.folder / "script.py").write_text(SCRIPT)
    done = sonde.run("run", "--name", "job", "--no-rules", "--no-report", PYTHON, "script.py")
    assert done.stdout == b"start False\nstep 0\nstep 5\nstep 10\nno end"
    assert b"password=hunter2\n" in done.stderr
    lines = json.loads(sonde.run("logs", "job", "--json").stdout)
    printed = [(line["step"], line["text"]) for line in lines if line["stream"] == "stdout"]
    assert printed == [
        (0, "start False"),
        *((step, f"step {step}") for step in (0, 5, 10)),
        (11, "no end"),
    ]
    errors = [line["text"] for line in lines if line["stream"] == "stderr"]
    assert errors[0].startswith("password=")
    assert "hunter2" not in errors[0]
    assert errors[-1] == "ValueError: broken"
    found = sonde.run("logs", "job", "--grep", "STEP 1", "--tail", "1").stdout.decode()
    assert found.rstrip().endswith("step 10  step 10")
