"""The recorded environment of a job: commit, versions and nodes."""

import json
import platform
import subprocess

from tests.fakes.eventually import eventually
from tests.journeys.sonde_cli import PYTHON, Sonde

WAIT = "while [ ! -e end ]; do sleep 0.02; done"


def git(sonde: Sonde, *words: str) -> str:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *author, *words], cwd=sonde.folder, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_commit_is_recorded_and_whether_it_was_clean(sonde: Sonde) -> None:
    git(sonde, "init", "--initial-branch", "main")
    (sonde.folder / "train.py").write_text("pass")
    git(sonde, "add", "train.py")
    git(sonde, "commit", "--message", "A model")
    sonde.run("run", "--name", "clean", PYTHON, "train.py")
    commit = git(sonde, "rev-parse", "HEAD")
    expected = {"commit": commit, "branch": "main", "is_clean": "yes"}
    assert sonde.status("clean")["runs"][0]["git"] == expected
    (sonde.folder / "train.py").write_text("pass  # a change")
    sonde.run("run", "--name", "dirty", PYTHON, "train.py")
    assert sonde.status("dirty")["runs"][0]["git"] == {**expected, "is_clean": "no"}


def test_outside_a_repository_there_is_no_commit(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", "true", env={"GIT_CEILING_DIRECTORIES": "/"})
    assert sonde.status()["runs"][0]["git"] == {}


def test_versions_and_packages_are_recorded(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", PYTHON, "-c", "pass")
    run = sonde.status()["runs"][0]
    major, minor, _ = platform.python_version_tuple()
    assert run["versions"]["python"] == f"{major}.{minor}"
    assert run["packages"]["numpy"]
    assert run["machine"]["host"] == platform.node()
    assert int(run["machine"]["memory_bytes"]) > 1e8


def test_two_nodes_make_one_job_and_one_failure_fails_it(sonde: Sonde) -> None:
    nodes = [
        sonde.start("run", "--name", "job", "--node", name, "sh", "-c", f"{WAIT}; exit {code}")
        for name, code in (("a", 0), ("b", 4))
    ]
    assert eventually(lambda: sonde.state() != "none" and sonde.status()["nodes"] == ["a", "b"])
    assert sonde.runs()
    (sonde.folder / "end").touch()
    assert [process.wait(120) for process in nodes] == [0, 4]
    status = sonde.status()
    assert (status["state"], status["exit_code"]) == ("failed", 4)
    assert {run["node"]: run["state"] for run in status["runs"]} == {
        "a": "completed",
        "b": "failed",
    }
    assert len(json.loads(sonde.run("jobs", "--json").stdout)) == 1


def test_a_node_can_join_only_once(sonde: Sonde) -> None:
    together = [
        sonde.start("run", "--name", "job", "--node", name, "sh", "-c", WAIT)
        for name in ("a", "a", "b", "b")
    ]
    assert eventually(lambda: [process.poll() for process in together].count(1) == 2)
    (sonde.folder / "end").touch()
    codes = sorted(process.wait(120) for process in together)
    assert codes == [0, 0, 1, 1]
    assert sonde.status()["nodes"] == ["a", "b"]


def test_all_nodes_are_stopped_together(sonde: Sonde) -> None:
    nodes = [
        sonde.start("run", "--name", "job", "--node", name, "sleep", "600") for name in ("a", "b")
    ]
    assert eventually(lambda: sonde.state() != "none" and sonde.status()["nodes"] == ["a", "b"])
    done = sonde.run("stop", "job", "--json")
    assert sorted(json.loads(done.stdout)["replies"]) == ["a", "b"]
    assert [process.wait(120) for process in nodes] == [143, 143]
    assert sonde.state() == "stopped"
