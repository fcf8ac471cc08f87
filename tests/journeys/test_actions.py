"""A finding stops all workers of a job after the same step."""

import json
from pathlib import Path

import pytest

from tests.fakes.mail_server import MailServer
from tests.journeys.sonde_cli import PYTHON, Sonde

CHAT = "https://example.org/room/of-ours"  # does not look like a secret
BOTH = f"RANK=1 {PYTHON} script.py & RANK=0 {PYTHON} script.py; wait $!"

# The workers synchronize at every step, and each writes its last step at the end.
SCRIPT = """
import json, os, time, torch
import torch.distributed as dist
rank = int(os.environ["RANK"])
place = f"file://{os.getcwd()}/meeting"
dist.init_process_group("gloo", init_method=place, rank=rank, world_size=2)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
step = -1
try:
    for step in range(30000):
        optimizer.zero_grad()
        (model(torch.ones(2, 3)).sum() * 0 + 100).backward()
        optimizer.step()
        time.sleep(0.01)
finally:
    with open(f"last-{rank}.json", "w") as file:
        json.dump(step, file)
"""
RULES = """
import sonde

class LossTooLarge(sonde.Rule):
    \"\"\"The loss is larger than it should ever be.\"\"\"

    needs = (sonde.Losses(),)
    window_steps = 10

    def check(self, window, state):
        for curve in window.losses():
            for step, value in curve:
                if value > 50:
                    message = f"The loss is {value:.0f}."
                    critical = sonde.Severity.CRITICAL
                    yield self.finding(message, step=step, severity=critical, subject="loss")
"""


def settings(server: MailServer) -> str:
    return f"""
[rules.LossTooLarge]
source = "rules.py"
actions = ["email", "stop"]

[actions.email]
to = "me@example.org"
smtp = "{server.url}"

[actions.chat]
kind = "webhook"
url_env = "CHAT"
"""


def last_step(folder: Path, rank: int) -> int:
    return int(json.loads((folder / f"last-{rank}.json").read_text()))


@pytest.mark.timeout(300)
def test_a_finding_stops_all_workers_after_the_same_step_and_sends_mail(sonde: Sonde) -> None:
    with MailServer() as server:
        (sonde.folder / "rules.py").write_text(RULES)
        (sonde.folder / "script.py").write_text(SCRIPT)
        (sonde.folder / "sonde.toml").write_text(settings(server))
        words = ("run", "--name", "job", "--rules", "LossTooLarge", "sh", "-c", BOTH)
        variables = {"OMP_NUM_THREADS": "1", "WORLD_SIZE": "2", "CHAT": CHAT}
        done = sonde.run(*words, env=variables, timeout=240)

    assert done.returncode == 1
    status = sonde.status()
    assert (status["state"], status["exit"]["reason"]) == ("stopped", "stopped")
    assert status["exit"]["message"] == "stopped by LossTooLarge: The loss is 100"
    assert last_step(sonde.folder, 0) == last_step(sonde.folder, 1) < 29999
    (finding,) = status["rules"][0]["findings"]
    assert {action["action"]: action["status"] for action in finding["actions"]} == {
        "email": "done",
        "stop": "done",
    }
    assert status["runs"][0]["environment"]["CHAT"] == "***"
    (envelope,) = server.envelopes
    assert "The loss is 100." in envelope.message.get_content()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--action", "emial"), "Unknown action 'emial'. Available: command, email, log"),
        (("--action", "stop,email"), "[actions.email] requires to: recipients"),
    ],
)
def test_an_invalid_action_is_an_error_before_the_job_starts(
    sonde: Sonde, words: tuple[str, ...], message: str
) -> None:
    done = sonde.run("run", "--name", "job", *words, "touch", "started")
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert len(done.stderr.splitlines()) == 1
    assert not (sonde.folder / "started").exists()
