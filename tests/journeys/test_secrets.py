"""Secrets of a command never reach the store."""

import gzip
from pathlib import Path

import pyarrow.parquet as pq

from sonde.store.frames import FrameScan
from tests.journeys.sonde_cli import PYTHON, Sonde

COMMAND_LINE = (
    *("--api-key", "sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6"),
    *("--password", "hunter2-in-words"),
    *("--db", "postgres://user:p4ssw0rd-in-url@db/train"),
    "--hf-token=shortsecret1",
    "WANDB_API_KEY=shortsecret2",
    "+db.password=shortsecret3",
)
ENVIRONMENT = {
    "HF_TOKEN": "shortsecret4",
    "MY_PASSWORD": "shortsecret5 with, words; and more6",
    "SERVICE_URL": "https://user:shortsecret7@host/path",
    "HARMLESS": "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
    **{
        name: f"shortsecret{number}"
        for number, name in enumerate(
            ("SSH_KEY_DATA", "KEY1", "MYKEY", "HF_TOKENS", "AZURE_STORAGE"), start=20
        )
    },
    "CUDA_VISIBLE_DEVICES": "0",
}
SECRETS = (
    *("sk-proj-Aa1Bb2Cc3Dd4Ee5Ff6", "hunter2-in-words", "p4ssw0rd-in-url", "more6"),
    *(f"shortsecret{number}" for number in (1, 2, 3, 4, 5, 7, *range(20, 25))),
    "hf_AbCdEfGhIjKlMnOpQrStUvWxYz",
)


# A script with a secret in every text that it can pass to Sonde.
TALKATIVE = """
import logging, os, threading, warnings
import torch, sonde
secret = os.environ["VALUE"]
def fail():
    raise ValueError(f"in a thread: {secret}")
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.add_module(secret, torch.nn.Linear(2, 2))
    def forward(self, x):
        with torch.profiler.record_function(f"annotated {secret}"):
            return getattr(self, secret)(x)
Model.__name__ = Model.__qualname__ = f"Model_{secret}"
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
threading.excepthook = lambda args: None
with sonde.profile(("operators", "python"), steps=4):
    for number in range(12):
        with sonde.phase(f"phase {secret}"):
            optimizer.zero_grad()
            loss = model(torch.ones(4, 2)).square().mean()
            loss.backward()
            optimizer.step()
        sonde.log({f"metric {secret}": 1.0})
        sonde.save(f"array {secret}", torch.ones(3))
        print(f"printed {secret}")
        logging.getLogger(secret).warning("logged %s", secret)
        warnings.warn(f"warned {secret}")
thread = threading.Thread(target=fail, name=f"thread {secret}")
thread.start()
thread.join()
raise RuntimeError(f"died of {secret}")
"""


def unpacked(path: Path) -> bytes:
    """Return the content of a file, including compressed sections."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        return content + str(pq.read_table(path).to_pylist()).encode()
    for start, make in ((b"\xf5SND", frames_in), (b"\x1f\x8b", gzip.decompress)):
        if content.startswith(start):
            content += make(content)
    return content


def frames_in(content: bytes) -> bytes:
    return b"".join(frame.payload for frame in FrameScan(content))


def assert_nowhere(sonde: Sonde, secrets: tuple[str, ...]) -> None:
    files = [path for path in (sonde.folder / "sonde-jobs").rglob("*") if path.is_file()]
    assert any(path.name == "surroundings.json" for path in files)
    for path in files:
        content = unpacked(path)
        for secret in secrets:
            assert secret.encode() not in content, f"{secret} in {path}"
            assert secret not in str(path)


def test_secrets_reach_the_command_and_not_the_store(sonde: Sonde) -> None:
    done = sonde.run("run", "--name", "job", "echo", *COMMAND_LINE, env=ENVIRONMENT)
    assert done.stdout.decode().split() == list(COMMAND_LINE)
    assert not any(secret.encode() in done.stderr for secret in SECRETS)
    assert_nowhere(sonde, SECRETS)
    run = sonde.status()["runs"][0]
    assert run["command"][1:3] == ["--api-key", "***"]
    assert run["environment"]["HF_TOKEN"] == "***"
    assert run["environment"]["SERVICE_URL"] == "***"
    assert run["environment"]["CUDA_VISIBLE_DEVICES"] == "0"


def test_a_secret_used_as_the_command_is_not_in_the_job_name(sonde: Sonde) -> None:
    done = sonde.run("run", "API_TOKEN=shortsecret8", "python", "train")
    assert done.returncode == 127
    assert b"shortsecret8" not in done.stderr
    assert_nowhere(sonde, ("shortsecret8",))


def test_the_arguments_of_a_failed_subprocess_are_masked_in_the_traceback_and_the_report(
    sonde: Sonde,
) -> None:
    (sonde.folder / "script.py").write_text(
        "import os, subprocess\n"
        "value = os.environ['VALUE']\n"
        "words = ['--password', value, '-p' + value, 'AccountKey=' + value]\n"
        "subprocess.run(['false', *words], check=True)\n"
    )
    secret = "shortsecret9"
    words = ("run", "--name", "job", "--no-rules", PYTHON, "script.py")
    done = sonde.run(*words, env={"VALUE": secret})
    assert done.returncode == 1
    traceback = sonde.status()["exit"]["traceback"]
    assert "'--password', '***'" in traceback
    assert "returned non-zero exit status 1" in traceback
    report = sonde.job_folder("job") / "report" / "report.html"
    assert "returned non-zero exit status 1" in report.read_text()
    assert_nowhere(sonde, (secret,))


def test_a_secret_in_any_text_of_a_script_reaches_neither_the_job_nor_the_report(
    sonde: Sonde,
) -> None:
    (sonde.folder / "script.py").write_text(TALKATIVE)
    secret = "hf_AbCdEfGh0123456789XyZaBcDeFgHiJkLm"
    words = ("run", "--name", "job", "--rules", "loss_spike", PYTHON, "script.py")
    done = sonde.run(*words, "--token", secret, env={"VALUE": secret})
    assert done.returncode == 1
    assert not any(secret in line for line in done.stderr.decode().splitlines() if "sonde:" in line)
    assert (sonde.job_folder("job") / "report" / "report.html").exists()
    assert "died of ***" in str(sonde.status()["exit"])
    assert_nowhere(sonde, (secret,))
