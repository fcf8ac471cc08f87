"""Registration of jobs and nodes in a store."""

import uuid
from dataclasses import replace
from pathlib import Path

import pytest

from sonde.agent.placement import Placement
from sonde.agent.registration import Registration, RunRequest, register
from sonde.clock import NANOSECONDS
from sonde.errors import JobExistsError, UsageError
from sonde.records.job import Attempt, Exit, ExitReason, JobState, Launcher
from sonde.settings import RunSettings
from sonde.store.backends import open_backend
from sonde.store.facts import encode_facts
from sonde.store.layout import attempt_key
from sonde.store.presence import this_process
from tests.fakes.clock import FakeClock

COMMAND = ("python", "train.py")


@pytest.fixture
def run_request() -> RunRequest:
    store = f"memory://{uuid.uuid4().hex}"
    return RunRequest(RunSettings(store=store), Placement("node-a"))


def named(run_request: RunRequest, name: str | None = "resnet", **settings: object) -> RunRequest:
    return replace(run_request, settings=replace(run_request.settings, name=name), **settings)  # type: ignore[arg-type]


def on(run_request: RunRequest, node: str, **placement: object) -> RunRequest:
    new_placement = replace(run_request.placement, node=node, **placement)  # type: ignore[arg-type]
    return replace(run_request, placement=new_placement)


def start(registration: Registration, launcher: Launcher | None = None) -> None:
    """Write the start of an attempt like a launcher."""
    launcher = launcher or Launcher(1, "0", "elsewhere")
    attempt = Attempt(
        registration.node, registration.number, FakeClock().now_ns(), COMMAND, "/", 1, launcher, 0.5
    )
    key = attempt_key(registration.node, registration.number, "start")
    registration.backend.write(key, encode_facts(attempt))


def end(registration: Registration, state: JobState = JobState.FAILED) -> None:
    exit_ = Exit(state, ExitReason.EXIT, 1, code=1)
    key = attempt_key(registration.node, registration.number, "exit")
    registration.backend.write(key, encode_facts(exit_))


def test_new_name_creates_a_job(run_request: RunRequest) -> None:
    registration = register(named(run_request), COMMAND, FakeClock())
    assert (registration.job, registration.node, registration.number, registration.is_creator) == (
        "resnet",
        "node-a",
        1,
        True,
    )
    assert registration.backend.exists("job.json")


def test_a_name_in_use_is_refused(run_request: RunRequest) -> None:
    register(named(run_request), COMMAND, FakeClock())
    with pytest.raises(JobExistsError, match="--resume"):
        register(named(run_request), COMMAND, FakeClock())


def test_name_from_a_file_is_reported_with_the_file(run_request: RunRequest) -> None:
    settings = replace(run_request.settings, name="resnet", name_in_file=("resnet", "sonde.toml"))
    from_file = replace(run_request, settings=settings)
    register(from_file, COMMAND, FakeClock())
    with pytest.raises(
        JobExistsError, match=r"'resnet' \(sonde.toml: \[job\] name\) already exists"
    ):
        register(from_file, COMMAND, FakeClock())
    register(named(from_file, "mine"), COMMAND, FakeClock())
    with pytest.raises(JobExistsError, match="'mine' already exists"):
        register(named(from_file, "mine"), COMMAND, FakeClock())
    bad = replace(settings, name="two words", name_in_file=("two words", "sonde.toml"))
    with pytest.raises(
        UsageError, match=r"^sonde.toml: \[job\] name: Invalid job name 'two words'"
    ):
        register(replace(run_request, settings=bad), COMMAND, FakeClock())


@pytest.mark.parametrize("name", ["a/b", "..", ".", "", "ä", "x" * 129, "two words", "a\n"])
def test_a_bad_name_is_refused(run_request: RunRequest, name: str) -> None:
    with pytest.raises(UsageError, match="up to 128"):
        register(named(run_request, name), COMMAND, FakeClock())
    with pytest.raises(UsageError, match="Invalid node name"):
        register(on(named(run_request), name), COMMAND, FakeClock())


@pytest.mark.parametrize(
    ("command", "base"),
    [
        (("python", "-u", "src/train.py", "--x"), "train"),
        (("bash", "run me.sh"), "run-me"),
        (("python", "-m", "torch.distributed.run", "--n", "2"), "torch.distributed.run"),
        (("/usr/bin/make", "-j2"), "make"),
        (("python", "-c", "print()"), "python"),
        (("...",), "job"),
        (("API_TOKEN=***", "x"), "API_TOKEN"),
    ],
)
def test_without_a_name_the_job_is_named_after_the_script_and_the_time(
    run_request: RunRequest, command: tuple[str, ...], base: str
) -> None:
    name = register(run_request, command, FakeClock()).job
    assert name.rsplit("-", 2)[0] == base


def test_names_created_in_the_same_second_differ(run_request: RunRequest) -> None:
    names = {register(run_request, COMMAND, FakeClock()).job for _ in range(5)}
    assert len(names) == 5
    assert {name[-2:] for name in names} >= {"-2", "-3", "-4", "-5"}


def test_another_node_joins_a_job_by_name(run_request: RunRequest) -> None:
    first = register(replace(named(run_request), is_node_given=True), COMMAND, FakeClock())
    second = register(
        replace(on(named(run_request), "node-b"), is_node_given=True), COMMAND, FakeClock()
    )
    assert (first.is_creator, second.is_creator) == (True, False)
    assert second.backend.uri == first.backend.uri


def test_only_one_of_two_nodes_with_the_same_name_joins(run_request: RunRequest) -> None:
    shared = replace(named(run_request), is_node_given=True)
    register(shared, COMMAND, FakeClock())
    with pytest.raises(JobExistsError):  # the creator's own name, before it wrote anything else
        register(shared, COMMAND, FakeClock())
    register(on(shared, "node-b"), COMMAND, FakeClock())
    with pytest.raises(JobExistsError):  # likewise before it wrote anything
        register(on(shared, "node-b"), COMMAND, FakeClock())


def test_the_nodes_of_a_cluster_job_find_each_other_without_a_name(run_request: RunRequest) -> None:
    nodes = [on(run_request, f"node-{n}", group="47 11", nodes=2) for n in (1, 2)]
    registrations = [register(node, COMMAND, FakeClock()) for node in nodes]
    assert [registration.job for registration in registrations] == ["train-47-11", "train-47-11"]
    repeated = register(nodes[0], COMMAND, FakeClock())  # the same script once more in that job
    assert repeated.job == "train-47-11-2"


def test_all_nodes_agree_on_the_name_of_a_rerun(run_request: RunRequest) -> None:
    nodes = [on(run_request, f"node-{n}", group="host-29500", nodes=2) for n in (1, 2)]
    for registration in [register(node, COMMAND, FakeClock()) for node in nodes]:
        start(registration)
        end(registration)

    jobs = [register(node, COMMAND, FakeClock()).job for node in nodes]

    assert jobs == ["train-host-29500-2"] * 2


def test_a_job_that_the_cluster_restarts_after_a_failure_gets_another_attempt(
    run_request: RunRequest,
) -> None:
    nodes = [on(run_request, node, group="4711", nodes=2, restarts=True) for node in "ab"]
    for registration in [register(node, COMMAND, FakeClock()) for node in nodes]:
        start(registration)
        end(registration)

    same = register(nodes[0], COMMAND, FakeClock())
    start(same, launcher=this_process())
    replacement = register(on(nodes[1], "c"), COMMAND, FakeClock())

    assert (same.job, same.number) == ("train-4711", 2)
    assert (replacement.job, replacement.number) == ("train-4711", 2)


def test_a_machine_that_takes_the_place_of_a_failed_one_begins_an_attempt(
    run_request: RunRequest,
) -> None:
    request = on(run_request, "a", group="4711", restarts=True)
    first = register(request, COMMAND, FakeClock())
    start(first)
    end(first)

    second = register(on(request, "b"), COMMAND, FakeClock())

    assert (second.job, second.number, second.is_creator) == ("train-4711", 2, True)


def test_a_cluster_job_that_completed_is_not_continued(run_request: RunRequest) -> None:
    request = on(run_request, "a", group="nightly", restarts=True)
    first = register(request, COMMAND, FakeClock())
    start(first)
    end(first, JobState.COMPLETED)

    assert register(request, COMMAND, FakeClock()).job == "train-nightly-2"


def test_a_job_that_ended_is_resumed_as_the_next_attempt(run_request: RunRequest) -> None:
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    second = register(named(run_request, is_resume=True), COMMAND, FakeClock())
    assert second.number == 2


def test_resuming_a_missing_job_creates_it(run_request: RunRequest) -> None:
    registration = register(named(run_request, is_resume=True), COMMAND, FakeClock())
    assert (registration.number, registration.is_creator) == (1, True)


def test_running_job_is_not_resumed(run_request: RunRequest) -> None:
    start(register(named(run_request), COMMAND, FakeClock()), launcher=this_process())
    with pytest.raises(JobExistsError, match="is still running"):
        register(named(run_request, is_resume=True), COMMAND, FakeClock())


def test_job_with_a_lost_launcher_is_resumed(run_request: RunRequest) -> None:
    dead_process = replace(this_process(), pid=2**22 + 1)
    start(register(named(run_request), COMMAND, FakeClock()), launcher=dead_process)
    assert register(named(run_request, is_resume=True), COMMAND, FakeClock()).number == 2


def test_only_the_default_store_gets_a_gitignore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    register(RunRequest(RunSettings(), Placement("a")), COMMAND, FakeClock())
    assert (tmp_path / "sonde-jobs" / ".gitignore").read_text() == "*\n"
    mine = RunSettings(store=str(tmp_path / "mine"))
    registration = register(RunRequest(mine, Placement("a")), COMMAND, FakeClock())
    assert not (tmp_path / "mine" / ".gitignore").exists()
    assert open_backend(registration.backend.uri).exists("job.json")


def test_finished_job_is_not_joined(run_request: RunRequest) -> None:
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    with pytest.raises(JobExistsError):
        register(on(named(run_request, is_node_given=True), "node-b"), COMMAND, FakeClock())


def test_only_one_of_two_simultaneous_resumes_succeeds(run_request: RunRequest) -> None:
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    repeated = named(run_request, is_resume=True)
    assert register(repeated, COMMAND, FakeClock()).number == 2
    with pytest.raises(JobExistsError, match="another launcher"):
        register(repeated, COMMAND, FakeClock())


@pytest.mark.parametrize("is_resume", [False, True])
def test_folder_with_other_files_is_refused_and_unchanged(
    tmp_path: Path, run_request: RunRequest, is_resume: bool
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text("years of work")
    settings = replace(run_request.settings, store=str(tmp_path), name="src")
    with pytest.raises(JobExistsError, match=r"src is not empty and is not a job"):
        register(replace(run_request, settings=settings, is_resume=is_resume), COMMAND, FakeClock())
    assert [path.name for path in (tmp_path / "src").iterdir()] == ["train.py"]


@pytest.mark.parametrize("document", ['{"my": 1}\n', "", "[" * 100_000])
def test_folder_with_a_foreign_job_document_is_not_resumed(
    tmp_path: Path, run_request: RunRequest, document: str
) -> None:
    folder = tmp_path / "src"
    (folder / "nodes" / "worker" / "attempt-best").mkdir(parents=True)
    contents = {"job.json": document, "main.py": "years of work"}
    contents["nodes/worker/attempt-best/weights.bin"] = "weeks of work"
    for name, text in contents.items():
        (folder / name).write_text(text)
    settings = replace(run_request.settings, store=str(tmp_path), name="src")

    with pytest.raises(JobExistsError, match=r"src is not empty and is not a job"):
        register(replace(run_request, settings=settings, is_resume=True), COMMAND, FakeClock())

    files = (path for path in folder.rglob("*") if path.is_file())
    assert {str(path.relative_to(folder)): path.read_text() for path in files} == contents


def test_job_with_a_damaged_document_is_resumed_if_it_has_attempts(run_request: RunRequest) -> None:
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    first.backend.write("job.json", b"damaged")
    assert register(named(run_request, is_resume=True), COMMAND, FakeClock()).number == 2


@pytest.mark.parametrize("is_resume", [False, True])
@pytest.mark.parametrize("content", ["an empty folder", "a job", "nothing"])
def test_linked_job_folder_is_refused(
    tmp_path: Path, run_request: RunRequest, content: str, is_resume: bool
) -> None:
    target = tmp_path / "elsewhere"
    if content != "nothing":
        target.mkdir()
    if content == "a job":
        settings = replace(run_request.settings, store=str(tmp_path), name="elsewhere")
        start(register(replace(run_request, settings=settings), COMMAND, FakeClock()))
    before = sorted(target.rglob("*"))
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "link").symlink_to(target)
    settings = replace(run_request.settings, store=str(tmp_path / "store"), name="link")

    with pytest.raises(JobExistsError, match=r"store/link is a symbolic link"):
        register(replace(run_request, settings=settings, is_resume=is_resume), COMMAND, FakeClock())

    assert sorted(target.rglob("*")) == before


@pytest.mark.parametrize("key", ["workers", "nodes/b", "workers/0/values", "report/report.html"])
def test_job_with_links_in_written_paths_is_not_resumed(
    tmp_path: Path, run_request: RunRequest, key: str
) -> None:
    run_request = replace(
        run_request, settings=replace(run_request.settings, store=str(tmp_path / "store"))
    )
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    (tmp_path / "mine").mkdir()
    link = tmp_path / "store" / first.job / key
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(tmp_path / "mine")

    with pytest.raises(JobExistsError, match=rf"{key} is a symbolic link"):
        register(named(run_request, is_resume=True), COMMAND, FakeClock())
    assert list((tmp_path / "mine").iterdir()) == []


def test_other_links_in_a_job_are_ignored(tmp_path: Path, run_request: RunRequest) -> None:
    run_request = replace(
        run_request, settings=replace(run_request.settings, store=str(tmp_path / "store"))
    )
    first = register(named(run_request), COMMAND, FakeClock())
    start(first)
    end(first)
    (tmp_path / "store" / first.job / "checkpoints").symlink_to(tmp_path)

    assert register(named(run_request, is_resume=True), COMMAND, FakeClock()).number == 2


def test_an_empty_folder_becomes_a_job(tmp_path: Path, run_request: RunRequest) -> None:
    (tmp_path / "src").mkdir()
    settings = replace(run_request.settings, store=str(tmp_path), name="src")
    register(replace(run_request, settings=settings), COMMAND, FakeClock())
    assert (tmp_path / "src" / "job.json").exists()


def test_name_of_a_failed_start_is_explained(run_request: RunRequest) -> None:
    register(named(run_request), COMMAND, FakeClock())
    with pytest.raises(JobExistsError, match=r"never started.*sonde rm"):
        register(named(run_request), COMMAND, FakeClock(FakeClock().now_ns() + 3600 * NANOSECONDS))
