"""The hook is loaded into every Python process of a job that imports a framework, and no other."""

import json
import os
import shutil
import subprocess
import sys
import venv
import zipapp
from collections.abc import Mapping
from pathlib import Path

import pytest

from sonde.agent.handover import INJECT_FOLDER
from tests.journeys.sonde_cli import PYTHON, Sonde, plain_environment

BASE_PYTHON = str(Path(sys.base_prefix) / "bin" / "python3")
IS_ENTERED = "'sonde.hook.entry' in sys.modules"
SCRIPT = f"import sys, torch; print({IS_ENTERED})"
COMPLAINT = "sonde: training in this process is not recorded: "


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a one-line framework and a script that imports it."""
    (tmp_path / "torch.py").write_text("VALUE = 7\n")
    (tmp_path / "script.py").write_text(SCRIPT)
    return tmp_path


def run(
    folder: Path, *words: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Python in the folder without Sonde."""
    environment = {**plain_environment(), **(variables or {})}
    command = [PYTHON, *words] if words[0] != BASE_PYTHON else list(words)
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )


def enter(
    folder: Path, *words: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run Python in the folder as a process of a job."""
    options = dict(variables or {})
    path = os.pathsep.join(filter(None, (str(INJECT_FOLDER), options.get("PYTHONPATH"))))
    ours = {"PYTHONPATH": path, "SONDE_JOB_URI": str(folder / "job")}
    return run(folder, *words, variables={**options, **ours})


def entered(folder: Path, *words: str, variables: Mapping[str, str] | None = None) -> bool:
    done = enter(folder, *words, variables=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()[-1] == "True"


@pytest.mark.parametrize("words", [["script.py"], ["-m", "script"], ["-c", SCRIPT]])
def test_the_hook_is_loaded_however_python_is_started(folder: Path, words: list[str]) -> None:
    assert entered(folder, *words)
    assert run(folder, *words).stdout == "False\n"


@pytest.mark.parametrize("safe", [["-P"], []])
def test_the_hook_is_loaded_with_a_safe_path(folder: Path, safe: list[str]) -> None:
    variables = {"PYTHONPATH": str(folder), "PYTHONSAFEPATH": "" if safe else "1"}
    assert entered(folder, *safe, "script.py", variables=variables)


def test_the_hook_is_loaded_in_an_archive(folder: Path, tmp_path: Path) -> None:
    source = tmp_path / "app"
    source.mkdir()
    (source / "torch.py").write_text("import inside\n")
    (source / "inside.py").write_text("VALUE = 7\n")
    (source / "__main__.py").write_text(SCRIPT)
    zipapp.create_archive(source, tmp_path / "app.pyz")
    (folder / "torch.py").unlink()
    assert entered(folder, "app.pyz")


@pytest.mark.parametrize("method", ["spawn", "fork", "forkserver"])
def test_the_hook_is_loaded_in_multiprocessing_children(folder: Path, method: str) -> None:
    (folder / "parent.py").write_text(
        "import multiprocessing, sys\n"
        "def child():\n"
        f"    import torch; print({IS_ENTERED})\n"
        "if __name__ == '__main__':\n"
        f"    process = multiprocessing.get_context({method!r}).Process(target=child)\n"
        "    process.start(); process.join()\n"
        "    assert 'sonde' not in sys.modules\n"
        "    sys.exit(process.exitcode)\n"
    )
    assert entered(folder, "parent.py")


def test_the_hook_is_loaded_in_an_environment_without_sonde_and_numpy(
    folder: Path, tmp_path: Path
) -> None:
    entry = tmp_path / "other"
    venv.create(entry, with_pip=False)
    python = str(entry / "bin" / "python")
    says = "import sonde; print(sonde.__file__, 'numpy' in sys.modules, *sys.path, sep='\\n')"
    (folder / "script.py").write_text(f"{SCRIPT}\n{says}")
    variables = {
        **plain_environment(),
        "PYTHONPATH": str(INJECT_FOLDER),
        "SONDE_JOB_URI": str(folder / "job"),
    }
    done = subprocess.run(
        [python, "script.py"], cwd=folder, env=variables, capture_output=True, text=True, check=True
    )
    is_entered, package, has_numpy, *path = done.stdout.splitlines()
    assert (is_entered, has_numpy) == ("True", "False")
    assert Path(package).is_relative_to(INJECT_FOLDER.parent.parent)
    assert not [
        path_entry
        for path_entry in path
        if "site-packages" in path_entry and not path_entry.startswith(str(entry))
    ]


def test_the_framework_module_is_the_same_as_without_sonde(folder: Path) -> None:
    (folder / "script.py").write_text(
        "import importlib.util, json, sys\n"
        "probe = importlib.util.find_spec('torch')\n"
        "assert 'torch' not in sys.modules\n"
        "import torch\n"
        "spec, loader = torch.__spec__, torch.__loader__\n"
        "print(json.dumps([torch.VALUE, spec.origin, type(loader).__name__,\n"
        "    loader is spec.loader, sorted(vars(loader)), sorted(vars(torch)),\n"
        "    type(probe.loader).__name__]))\n"
    )
    assert enter(folder, "script.py").stdout == run(folder, "script.py").stdout


def test_a_framework_that_cannot_be_imported_fails_as_without_sonde(folder: Path) -> None:
    (folder / "torch.py").write_text("import no_such_library\n")
    plain, watched = run(folder, "script.py"), enter(folder, "script.py")
    assert watched.stderr == plain.stderr
    assert "no_such_library" in plain.stderr
    assert watched.returncode == plain.returncode == 1


def test_a_second_attempt_to_import_the_framework_loads_the_hook(folder: Path) -> None:
    (folder / "torch.py").write_text(
        "import sys\nif not hasattr(sys, 'again'):\n    sys.again = 1\n    raise ImportError\n"
    )
    (folder / "script.py").write_text(f"try:\n    import torch\nexcept ImportError: pass\n{SCRIPT}")
    assert entered(folder, "script.py")


def test_a_program_without_a_framework_loads_no_code_of_sonde(folder: Path) -> None:
    says = "import sys; print(*sys.modules)"
    more = set(enter(folder, "-c", says).stdout.split()) - set(
        run(folder, "-c", says).stdout.split()
    )
    assert more <= {"sitecustomize", "atexit"}


@pytest.mark.parametrize("variables", [{"SONDE_DISABLE": "1"}, {"SONDE_JOB_URI": ""}])
def test_the_hook_is_not_installed_if_disabled_or_outside_of_a_job(
    folder: Path, variables: dict[str, str]
) -> None:
    says = "import sys; print(sys.meta_path, sys.excepthook, 'atexit' in sys.modules)"
    ours = {"PYTHONPATH": str(INJECT_FOLDER), "SONDE_JOB_URI": str(folder / "job"), **variables}
    inert, plain = run(folder, "-c", says, variables=ours), run(folder, "-c", says)
    assert inert.stdout.split(" at 0x")[0] == plain.stdout.split(" at 0x")[0]
    assert "sitecustomize" not in inert.stdout
    assert run(folder, "script.py", variables=ours).stdout == "False\n"


@pytest.fixture
def customized(folder: Path) -> dict[str, str]:
    """A user folder on PYTHONPATH with a `sitecustomize` module."""
    path = folder / "custom"
    path.mkdir()
    (path / "sitecustomize.py").write_text(
        "import sys\nsys.custom = (__file__, __name__, __spec__.origin, __spec__.name)\n"
    )
    return {"PYTHONPATH": str(path)}


def test_the_sitecustomize_module_of_the_user_runs(
    folder: Path, customized: dict[str, str]
) -> None:
    (folder / "script.py").write_text(
        "import sys, sitecustomize\nprint(*sys.custom, sitecustomize.__file__)\n" + SCRIPT
    )
    plain = run(folder, "script.py", variables=customized)
    watched = enter(folder, "script.py", variables=customized)
    assert watched.stdout.splitlines()[0] == plain.stdout.splitlines()[0]
    assert watched.stdout.splitlines()[1] == "True"


@pytest.mark.parametrize("line", ["1/0", "import no_such_thing", "raise SystemExit(3)"])
def test_an_error_in_sitecustomize_is_shown_as_without_sonde(
    folder: Path, customized: dict[str, str], line: str
) -> None:
    (folder / "custom" / "sitecustomize.py").write_text(line)
    plain = run(folder, "-c", "print(1)", variables=customized)
    watched = enter(folder, "-c", "print(1)", variables=customized)
    assert watched.stderr.splitlines()[:1] == plain.stderr.splitlines()[:1]
    assert (watched.stdout, watched.returncode) == (plain.stdout, plain.returncode)


def test_the_hook_is_loaded_if_sitecustomize_imports_the_framework(
    folder: Path, customized: dict[str, str]
) -> None:
    (folder / "custom" / "torch.py").write_text("VALUE = 8\n")
    (folder / "custom" / "sitecustomize.py").write_text("import torch\n")
    assert entered(folder, "-P", "script.py", variables=customized)


def test_the_usercustomize_module_of_the_user_runs(folder: Path) -> None:
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    path = folder / "person" / "lib" / version / "site-packages"
    path.mkdir(parents=True)
    (path / "usercustomize.py").write_text("print('mine')")
    variables = {"PYTHONUSERBASE": str(folder / "person")}
    done = enter(folder, BASE_PYTHON, "script.py", variables=variables)
    assert done.stdout.split() == ["mine", "True"]


@pytest.mark.parametrize("first", ["", "import multiprocessing.process\n"])
def test_a_missing_file_of_sonde_is_reported_whatever_was_imported_before_torch(
    folder: Path, first: str
) -> None:
    inject = folder / "damaged" / "sonde" / "hook" / "inject"
    shutil.copytree(INJECT_FOLDER, inject)
    variables = {"PYTHONPATH": str(inject), "SONDE_JOB_URI": str(folder / "job")}
    done = run(folder, "-c", f"{first}import torch", variables=variables)
    assert done.stderr.startswith(COMPLAINT)
    assert done.stderr.count("\n") == 1


def test_nested_launchers_load_the_hook_once(folder: Path) -> None:
    variables = {"PYTHONPATH": os.pathsep.join([str(INJECT_FOLDER)] * 3)}
    code = (
        "import sys; names = [type(finder).__name__ for finder in sys.meta_path]; "
        "print(sum(name.endswith('ImportWatcher') for name in names))"
    )
    assert enter(folder, "-c", code, variables=variables).stdout == "1\n"


@pytest.mark.parametrize("name", ["sonde.py", "sonde/__init__.py", "sonde/part.py"])
def test_a_user_module_named_sonde_is_not_replaced(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text("MINE = 1\n")
    owner = "sonde.part" if "part" in name else "sonde"
    (folder / "script.py").write_text(f"{SCRIPT}\nimport {owner}\nprint({owner}.MINE)")
    done = enter(folder, BASE_PYTHON, "script.py")
    assert done.stdout == "False\n1\n"
    assert done.stderr.startswith(COMPLAINT)
    assert len(done.stderr.splitlines()) == 1


def test_a_folder_named_sonde_without_code_does_not_prevent_recording(folder: Path) -> None:
    (folder / "sonde" / "results").mkdir(parents=True)
    assert entered(folder, BASE_PYTHON, "script.py")


def test_a_failure_inside_sonde_is_one_line_and_training_continues(folder: Path) -> None:
    (folder / "script.py").write_text("import torch; print(torch.VALUE)")
    done = enter(folder, "script.py")  # adapters cannot attach to a one-line framework
    assert (done.stdout, done.returncode) == ("7\n", 0)
    assert len(done.stderr.splitlines()) <= 1


def test_pythonpath_gains_one_entry_at_the_front(sonde: Sonde) -> None:
    script = "import json, os; print(json.dumps(os.environ['PYTHONPATH'].split(os.pathsep)))"
    for options in ({}, {"PYTHONPATH": f"/one{os.pathsep}/two"}):
        done = sonde.run("run", "--quiet", PYTHON, "-c", script, env=options)
        rest = options["PYTHONPATH"].split(os.pathsep) if options else []
        assert json.loads(done.stdout) == [str(INJECT_FOLDER), *rest]


def test_an_isolated_python_is_reported_as_not_recorded(sonde: Sonde) -> None:
    sonde.run("run", "--name", "job", PYTHON, "-I", "-c", "pass")
    (left_out,) = sonde.status()["not_collected"]
    assert left_out["what"] == "the inside of the job"
    assert "-I isolates it from its environment" in left_out["reason"]


LAUNCHERS = {
    "torch.distributed.run": [PYTHON, "-m", "torch.distributed.run", "--nproc-per-node", "2"],
    "accelerate": ["accelerate", "launch", "--cpu", "--num_processes", "1", "--num_machines", "1"],
}


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_hook_is_loaded_by_real_launchers(sonde: Sonde, launcher: str) -> None:
    (sonde.folder / "script.py").write_text(
        f"import os, pathlib, sys, torch\n"
        f"pathlib.Path('rank-' + os.environ.get('RANK', '0')).write_text(str({IS_ENTERED}))\n"
    )
    program, *options = LAUNCHERS[launcher]
    command = [str(Path(PYTHON).parent / program), *options, "script.py"]
    done = sonde.run("run", "--quiet", "--", *command, timeout=120)
    assert done.returncode == 0, done.stderr
    assert COMPLAINT.encode() not in done.stderr
    ranks = sorted(sonde.folder.glob("rank-*"))
    assert len(ranks) == (1 if launcher == "accelerate" else 2)
    assert all(rank.read_text() == "True" for rank in ranks)


def test_the_hook_is_loaded_in_an_executable_script(folder: Path) -> None:
    program = folder / "train"
    program.write_text(f"#!{PYTHON}\n{SCRIPT}\n")
    program.chmod(0o755)
    variables = {"PYTHONPATH": str(INJECT_FOLDER), "SONDE_JOB_URI": str(folder / "job")}
    done = subprocess.run(
        [program], env={**plain_environment(), **variables}, capture_output=True, check=True
    )
    assert done.stdout == b"True\n"
