"""Jobs that a script or notebook starts itself, without `sonde run`."""

import atexit
import inspect
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from sonde.agent.environment import current_folder
from sonde.agent.exits import Ending, Kills, explain
from sonde.agent.handover import Handover
from sonde.agent.placement import placement
from sonde.agent.recording import Recording
from sonde.agent.registration import Registration, RunRequest, register
from sonde.agent.relay import relay_to
from sonde.clock import SystemClock, local_stamp
from sonde.errors import JobExistsError, StoreError
from sonde.formats import format_duration
from sonde.guard import Guard
from sonde.hook.failure import NO_RANK, describe
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.inject import sitecustomize
from sonde.hook.session import Session
from sonde.hook.thread_cpu import SondeThreads
from sonde.hook.torch.patching.patches import Patches
from sonde.masking import mask_command
from sonde.records.job import Attempt, Exit, ExitReason, JobState
from sonde.records.request import Request
from sonde.settings import (
    HookSettings,
    RunSettings,
    environment,
    is_disabled,
    load_settings,
    notebook_file,
    read_collections,
    set_variables,
    worker_placement,
)
from sonde.store.control import PATIENCE
from sonde.store.presence import this_process

_STOP_GRACE_SECONDS = 10.0
_REPLY_SECONDS = 0.5  # until the reply to a request is written


def start(
    *,
    name: str | None = None,
    store: str | None = None,
    config: str | Path | None = None,
    save: Any = (),
    resume: bool = False,
    quiet: bool = False,
) -> None:
    """Start recording this process; inside `sonde run`, only add missing settings.

    Existing models and optimizers are included. The job ends with `sonde.stop()` or with the
    process. If the store cannot be written, nothing is recorded and the script continues.

    Args:
        name: The job's name; by default, the name of the script or notebook and the time.
        store: Where to record the job; by default, SONDE_STORE or ./sonde-jobs.
        config: A configuration file; by default, `sonde.toml` next to the script or in this folder.
        save: Collections to record: a text as for `--save`, a table, or a list of these.
        resume: Continue the job of that name as another attempt.
        quiet: Print nothing.
    """
    if is_disabled():
        return
    saved = read_collections(save, "save") if save else ()
    session = Session.of_process()
    if session.store.worker.job_uri is not None:
        file_settings = load_settings(Path(config)).hook if config else HookSettings()
        _fill_in(session, file_settings.filled_with(saved))
        _warn_if_other(name)
        return
    settings = load_settings(Path(config) if config else None, _command())
    settings = replace(
        settings,
        name=name or settings.name,
        store=store or settings.store,
        hook=settings.hook.overridden_by(saved),
    )
    _begin(session, RunRequest(settings, placement(), resume), is_quiet=quiet)


def stop() -> None:
    """Stop recording; the job ends if `start` began it."""
    session = Session.of_process()
    if InsideJob.of_process() is None:
        session.close()
    else:
        now_ns, message = session.clock.now_ns(), "ended by sonde.stop()"
        _end(Exit(JobState.COMPLETED, ExitReason.EXIT, now_ns, message=message))


def load_ipython_extension(_shell: Any) -> None:
    """`%load_ext sonde` in a notebook: start recording."""
    start()


def unload_ipython_extension(_shell: Any) -> None:
    """`%unload_ext sonde`: stop recording."""
    stop()


def _warn_if_other(name: str | None) -> None:
    job = InsideJob.of_process()
    if job is not None and name not in (None, job.name):
        message = (
            f"sonde: already recording {job.name!r}. Call sonde.stop() before starting another job."
        )
        warnings.warn(message, stacklevel=3)


def _fill_in(session: Session, requested: HookSettings) -> None:
    """Apply settings that the command line has left at their defaults."""
    current, defaults = session.settings, HookSettings()
    changes = {
        field.name: getattr(requested, field.name)
        for field in fields(HookSettings)
        if getattr(current, field.name) == getattr(defaults, field.name)
    }
    merged = replace(current, **{**changes, "collections": current.collections})
    settings = merged.filled_with(requested.collections)
    if session.is_closed:
        session.reopen(worker_placement(), settings)
    else:
        session.apply_settings(settings)


def _begin(session: Session, request: RunRequest, *, is_quiet: bool) -> None:
    assert isinstance(session.clock, SystemClock)
    try:
        registration = _register(request, session.clock)
    except StoreError as error:
        warnings.warn(f"sonde: {error}. Not recording.", stacklevel=3)
        return
    is_first_here = request.placement.local_rank == 0
    job = InsideJob(registration, request.settings, session.clock)

    def begin() -> None:
        job.begin(samples_machine=is_first_here)
        session.reopen(worker_placement(), request.settings.for_workers())
        _enter(session)

    Guard().call("sonde.start", begin, None)
    if not is_quiet and is_first_here and sys.stderr is not None:
        sys.stderr.write(f"sonde: recording {registration.job} in {request.settings.store}\n")


def _register(request: RunRequest, clock: SystemClock) -> Registration:
    """Register the job; if a fixed name is in use by an earlier run, add the time to it."""
    command = mask_command(_command())
    try:
        return register(request, command, clock)
    except JobExistsError as error:
        if request.is_resume or request.settings.name is None:
            raise
        name = f"{request.settings.name}-{local_stamp(clock.now_ns())}"
        warnings.warn(f"sonde: {error} Recording as {name!r}.", stacklevel=4)
        settings = replace(request.settings, name=name)
        return register(replace(request, settings=settings), command, clock)


def _command() -> tuple[str, ...]:
    """The command line to record; for a notebook, its name."""
    if hasattr(sys, "ps1") and "IPython" in sys.modules:
        file = vars(sys.modules["__main__"]).get("__vsc_ipynb_file__") or notebook_file()
        return (Path(file).stem if file else "notebook",)
    return tuple(sys.orig_argv)


def _enter(session: Session) -> None:
    """Wait for frameworks to be imported, and adopt those already imported."""
    if any(isinstance(finder, sitecustomize.ImportWatcher) for finder in sys.meta_path):
        return
    Guard().call("the import watcher", sitecustomize.wait, None)
    for framework, adapter in session.frameworks.adapters.items():
        session.guard.call(framework, adapter.adopt, None)


def _end(exit_: Exit) -> None:
    job, InsideJob.current = InsideJob.of_process(), None
    if job is not None:
        session = Session.of_process()
        session.close()
        job.end(exit_)
        session.reopen(worker_placement(), HookSettings())


@atexit.register
def _process_ends() -> None:
    job = InsideJob.of_process()
    if job is not None:
        _end(job.exit_of_process())


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A call of `sys.exit`, and the position of the outermost frame at that moment."""

    code: int
    frame: FrameType | None
    instruction: int

    @classmethod
    def now(cls, status: object) -> "_Leaving":
        code = int(status) & 0xFF if isinstance(status, int) else int(status is not None)
        frame = inspect.currentframe()
        while frame is not None and frame.f_back is not None:
            frame = frame.f_back
        return cls(code, frame, frame.f_lasti if frame else 0)

    def is_uncaught(self) -> bool:
        """Whether the outermost frame has not continued since."""
        return self.frame is not None and self.frame.f_lasti == self.instruction


class InsideJob:
    """The recording of this process by itself."""

    current: ClassVar["InsideJob | None"] = None

    def __init__(
        self, registration: Registration, settings: RunSettings, clock: SystemClock
    ) -> None:
        self.pid = os.getpid()
        self._registration = registration
        self._settings = settings
        self._clock = clock
        run_id = os.urandom(8).hex()
        relay = relay_to(registration, run_id, clock)
        self._handover = Handover(registration, settings, clock, run_id, relay)
        cpu_seconds = SondeThreads().cpu_seconds
        self._recording = Recording(registration, settings, clock, self._stop, cpu_seconds, relay)
        self._before: dict[str, str | None] = {}
        self._stopped_by: str | None = None
        self._leaving: _Leaving | None = None
        self._patches = Patches()

    @classmethod
    def of_process(cls) -> "InsideJob | None":
        """The recording that this process began, not one inherited by a fork."""
        job = cls.current
        return job if job is not None and job.pid == os.getpid() else None

    @property
    def name(self) -> str:
        """The job's name."""
        return self._registration.job

    def begin(self, *, samples_machine: bool) -> None:
        """Start recording; child processes started from now on take part.

        Args:
            samples_machine: Whether to sample the machine, not only the processes of the job; one
                process per machine does.
        """
        InsideJob.current = self
        attempt = Attempt(
            node=self._registration.node,
            number=self._registration.number,
            start_ns=self._clock.now_ns(),
            command=mask_command(_command()),
            folder=current_folder(),
            process_pid=self.pid,
            launcher=this_process(),
            interval_seconds=self._settings.interval_seconds,
            run_id=self._handover.run_id,
            spool=str(relay.spool.folder) if (relay := self._handover.relay) else "",
        )
        self._before = set_variables(self._handover.variables(environment().get("PYTHONPATH")))
        start = partial(self._recording.start, attempt, samples_machine=samples_machine)
        self._recording.begin(start)
        if self._handover.relay is not None:
            self._handover.relay.start()
            Guard().call("the standby", self._handover.relay.start_standby, None)
        if not hasattr(sys, "ps1"):
            self._patches.wrap(sys, "exit", self._noting_exit)

    def end(self, exit_: Exit) -> None:
        """Stop recording and restore the process."""
        self._patches.undo()
        set_variables(self._before)
        Guard().call("the end", lambda: self._handover.finish(self._recording, exit_), None)

    def exit_of_process(self) -> Exit:
        """How this process ends, as far as it can tell."""
        error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
        now_ns = self._clock.now_ns()
        if not isinstance(error, BaseException):
            return explain(Ending(self._exit_code(), now_ns, self._stopped_by), Kills())
        info = Session.of_process().store.info
        failure = describe(error, now_ns, info.rank if info else NO_RANK)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        return explain(Ending(code, now_ns, self._stopped_by), Kills(), failure=failure)

    def _noting_exit(self, leave: Callable[..., Any]) -> Callable[..., Any]:
        def recording_exit(*status: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                self._leaving = _Leaving.now(status[0] if status else None)
            try:
                return leave(*status)
            except SystemExit as error:
                drop_frame(error)
                raise

        return recording_exit

    def _exit_code(self) -> int:
        """The code passed to `sys.exit`, unless the exception was caught."""
        return self._leaving.code if self._leaving and self._leaving.is_uncaught() else 0

    def _stop(self, request: Request) -> str:
        """Interrupt a notebook; terminate a script, and kill it after the grace period."""
        self._stopped_by = request.arguments.get("by", "a request")
        patience = float(request.arguments.get(PATIENCE, 0.0))
        if patience:
            _later(patience, lambda: self._end_as_stopped(signal.SIGTERM))
            limit = format_duration(patience)
            return f"stops by itself; SIGTERM follows after {limit} if still running"
        if hasattr(sys, "ps1"):
            _later(_REPLY_SECONDS, lambda: self._end_as_stopped(signal.SIGINT))
            return "interrupted; recording stopped"
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            _later(_REPLY_SECONDS, lambda: self._end_as_stopped(signal.SIGTERM))
            return "SIGTERM follows immediately"
        grace = float(request.arguments.get("grace_seconds", _STOP_GRACE_SECONDS))
        _later(grace, lambda: self._end_as_stopped(signal.SIGKILL))
        os.kill(self.pid, signal.SIGTERM)
        return f"SIGTERM sent; SIGKILL follows after {format_duration(grace)} if still running"

    def _end_as_stopped(self, number: int) -> None:
        _end(explain(Ending(0, self._clock.now_ns(), self._stopped_by), Kills()))
        os.kill(self.pid, number)


def _later(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
