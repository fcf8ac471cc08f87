"""Settings of the hook reach every process of the job or are refused at once."""

from sonde.settings import HookSettings, read_collections
from tests.journeys.sonde_cli import PYTHON, Sonde

PRINT = "import os; print(os.environ['SONDE_HOOK'])"


def hook_settings_of(sonde: Sonde, *options: str) -> HookSettings:
    done = sonde.run("run", "--quiet", *options, PYTHON, "-c", PRINT)
    assert done.returncode == 0
    return HookSettings.from_json(done.stdout.decode())


def test_by_default_a_worker_gets_default_settings(sonde: Sonde) -> None:
    assert hook_settings_of(sonde) == HookSettings()


def test_settings_of_file_and_command_line_reach_the_worker(sonde: Sonde) -> None:
    (sonde.folder / "sonde.toml").write_text(
        "[budget]\noverhead_percent = 3\n[save]\nhistogram_every = 5\n"
        "[[save.collection]]\nname = 'weights'\nvalues = true\n"
        "[[save.collection]]\nname = 'labels'\n"
    )
    saves = ("--save", "weights:every=10", "--save", "mine:include=fc,histogram")
    assert hook_settings_of(sonde, *saves) == HookSettings(
        histogram_every=5,
        collections=read_collections(["weights:every=10", "mine:include=fc,histogram", "labels"]),
        overhead_percent=3.0,
    )


def test_invalid_settings_are_refused_before_the_command_starts(sonde: Sonde) -> None:
    done = sonde.run("run", "--save", "gradients:evry=10", "touch", "started")
    assert done.returncode == 2
    assert not (sonde.folder / "started").exists()
    (line,) = done.stderr.decode().splitlines()
    assert all(word in line for word in ("--save", "evry", "'10'", "every"))
