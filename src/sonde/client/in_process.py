"""A job that a script or a notebook begins itself, without `sonde run` around it."""

import atexit
import inspect
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from sonde.agent.environment import current_folder
from sonde.agent.exits import Ending, Kills, explain
from sonde.agent.handover import Handover
from sonde.agent.recording import Recording
from sonde.agent.registration import Registration, Wish, register
from sonde.agent.relay import relay_to
from sonde.clock import SystemClock, local_stamp
from sonde.errors import JobExistsError, StoreError
from sonde.guard import Guard
from sonde.hook.failure import NO_RANK, describe
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.inject import sitecustomize
from sonde.hook.session import Session
from sonde.hook.thread_cpu import OwnThreads
from sonde.hook.torch.patching.patches import Patches
from sonde.masking import mask_command
from sonde.records.job import Attempt, Exit, ExitReason, JobState
from sonde.records.request import Request
from sonde.settings import (
    HookSettings,
    RunSettings,
    announce,
    environment,
    is_disabled,
    load_settings,
    notebook_file,
    placement,
    read_collections,
    worker_place,
)
from sonde.store.control import PATIENCE
from sonde.store.presence import this_process

_STOP_GRACE_SECONDS = 10.0
_REPLY_SECONDS = 0.5  # until the reply to a request is written
_OWN_COLLECTORS = ("process_tree",)  # the machine is measured by the first process on it


def start(
    *,
    name: str | None = None,
    store: str | None = None,
    config: str | Path | None = None,
    save: Any = (),
    resume: bool = False,
    quiet: bool = False,
) -> None:
    """Begins to record this process; inside `sonde run` it only adds what that left open.

    Models and optimizers that are there already are found. The job ends with `sonde.stop()` or with
    the process. Where the store cannot be written, nothing is recorded and the script goes on.

    Args:
        name: The job's name; without one, the script's or the notebook's name and the time.
        store: Where it is recorded; without one, SONDE_STORE or ./sonde-jobs.
        config: A configuration file; without one, `sonde.toml` beside the script or here.
        save: Collections to record: a text as for `--save`, a table, or a list of these.
        resume: Continue a job of that name as another attempt.
        quiet: Print nothing.
    """
    if is_disabled():
        return
    saved = read_collections(save, "save") if save else ()
    session = Session.of_process()
    if session.store.place.job_uri is not None:
        told = load_settings(Path(config)).hook if config else HookSettings()
        _fill_in(session, told.filled_with(saved))
        _say_if_other(name)
        return
    settings = load_settings(Path(config) if config else None, _command())
    settings = replace(
        settings,
        name=name or settings.name,
        store=store or settings.store,
        hook=settings.hook.overridden_by(saved),
    )
    _begin(session, Wish(settings, placement(), resume), is_quiet=quiet)


def stop() -> None:
    """Ends the recording: what is left is written, and the job is over if `start` began it."""
    session = Session.of_process()
    if InsideJob.of_process() is None:
        session.close()
    else:
        now_ns, message = session.clock.now_ns(), "ended by sonde.stop()"
        _end(Exit(JobState.COMPLETED, ExitReason.EXIT, now_ns, message=message))


def load_ipython_extension(_shell: Any) -> None:
    """`%load_ext sonde` in a notebook: records it from now on."""
    start()


def unload_ipython_extension(_shell: Any) -> None:
    """`%unload_ext sonde`: ends the recording."""
    stop()


def _say_if_other(name: str | None) -> None:
    job = InsideJob.of_process()
    if job is not None and name not in (None, job.name):
        message = f"sonde: {job.name!r} is being recorded; sonde.stop() ends it before another one."
        warnings.warn(message, stacklevel=3)


def _fill_in(session: Session, told: HookSettings) -> None:
    """Keeps what the command line said, and takes the rest."""
    known, usual = session.settings, HookSettings()
    open_ones = {
        field.name: getattr(told, field.name)
        for field in fields(HookSettings)
        if getattr(known, field.name) == getattr(usual, field.name)
    }
    merged = replace(known, **{**open_ones, "collections": known.collections})
    settings = merged.filled_with(told.collections)
    if session.is_closed:
        session.reopen(worker_place(), settings)
    else:
        session.apply_settings(settings)


def _begin(session: Session, wish: Wish, *, is_quiet: bool) -> None:
    assert isinstance(session.clock, SystemClock)
    try:
        registration = _register(wish, session.clock)
    except StoreError as error:
        warnings.warn(f"sonde: {error}. Nothing is recorded.", stacklevel=3)
        return
    is_first_here = wish.placement.local_rank == 0
    job = InsideJob(registration, wish.settings, session.clock)

    def begin() -> None:
        job.begin(None if is_first_here else _OWN_COLLECTORS)
        session.reopen(worker_place(), wish.settings.for_workers())
        _enter(session)

    Guard().call("sonde.start", begin, None)
    if not is_quiet and is_first_here and sys.stderr is not None:
        sys.stderr.write(f"sonde: recording {registration.job} in {wish.settings.store}\n")


def _register(wish: Wish, clock: SystemClock) -> Registration:
    """The job; where a script's fixed name is taken by an earlier run, one with the time added."""
    command = mask_command(_command())
    try:
        return register(wish, command, clock)
    except JobExistsError as error:
        if wish.is_resume or wish.settings.name is None:
            raise
        name = f"{wish.settings.name}-{local_stamp(clock.now_ns())}"
        warnings.warn(f"sonde: {error} This one is recorded as {name!r}.", stacklevel=4)
        settings = replace(wish.settings, name=name)
        return register(replace(wish, settings=settings), command, clock)


def _command() -> tuple[str, ...]:
    """What runs here, as it is recorded and named; a notebook is called by its own name."""
    if hasattr(sys, "ps1") and "IPython" in sys.modules:
        file = vars(sys.modules["__main__"]).get("__vsc_ipynb_file__") or notebook_file()
        return (Path(file).stem if file else "notebook",)
    return tuple(sys.orig_argv)


def _enter(session: Session) -> None:
    """Looks out for frameworks, and at those that are there already."""
    if any(isinstance(finder, sitecustomize.Lookout) for finder in sys.meta_path):
        return
    Guard().call("the look-out", sitecustomize.wait, None)
    for framework, adapter in session.frameworks.adapters.items():
        session.guard.call(framework, adapter.adopt, None)


def _end(exit_: Exit) -> None:
    job, InsideJob.current = InsideJob.of_process(), None
    if job is not None:
        session = Session.of_process()
        session.close()
        job.end(exit_)
        session.reopen(worker_place(), HookSettings())


@atexit.register
def _process_ends() -> None:
    job = InsideJob.of_process()
    if job is not None:
        _end(job.exit_of_process())


@dataclass(frozen=True, slots=True)
class _Leaving:
    """A call of `sys.exit`, and where the outermost code was at that moment."""

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
        """Whether the outermost code has not gone on since."""
        return self.frame is not None and self.frame.f_lasti == self.instruction


class InsideJob:
    """The recording of this process, by itself."""

    current: ClassVar["InsideJob | None"] = None

    def __init__(self, place: Registration, settings: RunSettings, clock: SystemClock) -> None:
        self.pid = os.getpid()
        self._place = place
        self._settings = settings
        self._clock = clock
        run_id = os.urandom(8).hex()
        relay = relay_to(place, run_id, clock)
        self._handover = Handover(place, settings, clock, run_id, relay)
        cpu_seconds = OwnThreads().cpu_seconds
        self._recording = Recording(place, settings, clock, self._stop, cpu_seconds, relay)
        self._before: dict[str, str | None] = {}
        self._stopped_by: str | None = None
        self._leaving: _Leaving | None = None
        self._patches = Patches()

    @classmethod
    def of_process(cls) -> "InsideJob | None":
        """The one that this process began, not a parent whose memory it has."""
        job = cls.current
        return job if job is not None and job.pid == os.getpid() else None

    @property
    def name(self) -> str:
        """The job's name."""
        return self._place.job

    def begin(self, collectors: Sequence[str] | None) -> None:
        """Begins to record the machine; processes that are started from now on take part."""
        InsideJob.current = self
        attempt = Attempt(
            node=self._place.node,
            number=self._place.number,
            start_ns=self._clock.now_ns(),
            command=mask_command(_command()),
            folder=current_folder(),
            process_pid=self.pid,
            launcher=this_process(),
            interval_seconds=self._settings.interval_seconds,
            run_id=self._handover.run_id,
            spool=str(relay.spool.folder) if (relay := self._handover.relay) else "",
        )
        names = None if collectors is None else tuple(collectors)
        self._before = announce(self._handover.variables(environment().get("PYTHONPATH")))
        self._recording.begin(lambda: self._recording.start(attempt, names))
        if self._handover.relay is not None:
            self._handover.relay.start()
            Guard().call("the standby", self._handover.relay.start_standby, None)
        if not hasattr(sys, "ps1"):
            self._patches.wrap(sys, "exit", self._noting_exit)

    def end(self, exit_: Exit) -> None:
        """Ends it, and leaves this process as it was."""
        self._patches.undo()
        announce(self._before)
        Guard().call("the end", lambda: self._handover.finish(self._recording, exit_), None)

    def exit_of_process(self) -> Exit:
        """How this process ends, as far as it can know itself."""
        error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
        now_ns = self._clock.now_ns()
        if not isinstance(error, BaseException):
            return explain(Ending(self._exit_code(), now_ns, self._stopped_by), Kills())
        info = Session.of_process().store.info
        failure = describe(error, now_ns, info.rank if info else NO_RANK)
        code = -signal.SIGINT if isinstance(error, KeyboardInterrupt) else 1
        return explain(Ending(code, now_ns, self._stopped_by), Kills(), failure=failure)

    def _noting_exit(self, leave: Callable[..., Any]) -> Callable[..., Any]:
        def noting(*status: Any) -> Any:
            if threading.current_thread() is threading.main_thread():
                self._leaving = _Leaving.now(status[0] if status else None)
            try:
                return leave(*status)
            except SystemExit as error:
                drop_frame(error)
                raise

        return noting

    def _exit_code(self) -> int:
        """The code that `sys.exit` was given, if nobody has caught that."""
        return self._leaving.code if self._leaving and self._leaving.is_uncaught() else 0

    def _stop(self, request: Request) -> str:
        """Interrupts a notebook; a script is asked to end, and ended after the grace."""
        self._stopped_by = request.arguments.get("by", "a request")
        patience = float(request.arguments.get(PATIENCE, 0.0))
        if patience:
            _later(patience, lambda: self._end_as_stopped(signal.SIGTERM))
            return f"it ends by itself; SIGTERM follows after {patience:g} s if it is still there"
        if hasattr(sys, "ps1"):
            _later(_REPLY_SECONDS, lambda: self._end_as_stopped(signal.SIGINT))
            return "interrupted; the recording is over"
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            _later(_REPLY_SECONDS, lambda: self._end_as_stopped(signal.SIGTERM))
            return "SIGTERM follows at once"
        grace = float(request.arguments.get("grace_seconds", _STOP_GRACE_SECONDS))
        _later(grace, lambda: self._end_as_stopped(signal.SIGKILL))
        os.kill(self.pid, signal.SIGTERM)
        return f"sent SIGTERM; SIGKILL follows after {grace:g} s if it is still there"

    def _end_as_stopped(self, number: int) -> None:
        _end(explain(Ending(0, self._clock.now_ns(), self._stopped_by), Kills()))
        os.kill(self.pid, number)


def _later(seconds: float, call: Callable[[], None]) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()
