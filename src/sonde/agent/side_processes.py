"""The processes beside a job: sealing, decoding traces, rules and the report."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from sonde.agent.deadline import Deadline
from sonde.agent.decoding import Decoder, decoding_command
from sonde.agent.registration import Registration
from sonde.agent.reporting import Reporter, reporting_command
from sonde.agent.rules_process import RulesProcess, rules_command
from sonde.agent.sealer import Sealer, sealing_command
from sonde.clock import Clock
from sonde.guard import Guard
from sonde.settings import RunSettings

if TYPE_CHECKING:
    from sonde.records.notice import Notice

_ACTIONS_SECONDS = 30.0  # the end of a job waits this long for actions, such as an email


class SideProcesses:
    """Starts the processes when there is work for them, and finishes them at the end.

    Args:
        registration: The node's place in the job.
        settings: The settings of the run.
        clock: The time.
        guard: Reports failures to start or finish a process.
        on_rules_failure: Called with the reason if the rules process keeps crashing, or fails at
            the end of the job.
    """

    def __init__(
        self,
        registration: Registration,
        settings: RunSettings,
        clock: Clock,
        guard: Guard,
        on_rules_failure: Callable[[str], None],
    ) -> None:
        self._guard = guard
        self.late_failures: list[Notice] = []  # after the last flush of the recording
        self._has_actions = settings.has_actions
        uri, node = registration.backend.uri, registration.node
        self._sealer = Sealer(sealing_command(uri, node, settings.disk_bytes), clock)
        self._decoder = Decoder(registration.backend, decoding_command(uri, node), clock)
        command = rules_command(registration, settings)
        self._rules = RulesProcess(registration, command, clock, on_rules_failure)
        if settings.rule_options.is_off or not settings.rules.live:
            self._rules.switch_off()
        self.reporter = Reporter(
            registration.backend,
            reporting_command(uri),
            clock,
            is_enabled=settings.report_at_end,
        )

    @property
    def cpu_seconds(self) -> float:
        """CPU time of sealing, decoding and rules; the report counts its own."""
        return self._sealer.cpu_seconds + self._decoder.cpu_seconds + self._rules.cpu_seconds

    def check_rules(self) -> None:
        """Start the rules process if it is needed and not running."""
        self._guard.attempt("rules", self._rules.check, None)

    def check_files(self, closed_segments: int) -> None:
        """Start sealing or decoding if there are new files."""
        self._guard.attempt("sealing", lambda: self._sealer.seal(closed_segments), None)
        self._guard.attempt("trace decoding", self._decoder.check, None)

    def switch_off_rules(self) -> None:
        """Stop the rules process."""
        self._guard.attempt("rules", self._rules.switch_off, None)

    def finish(
        self, deadline: Deadline, prompt: Deadline | None = None, *, has_failed: bool
    ) -> None:
        """Finish rules and decoding, then the report; short commands without training get none.

        Args:
            deadline: When everything must be finished.
            prompt: When a terminal must be back: the report is then left to its process.
            has_failed: Whether the command failed: its report shows why.
        """
        guard = self._guard
        minimum = _ACTIONS_SECONDS if self._has_actions else 0.0
        guard.attempt("rules", lambda: self._rules.finish(max(deadline.remaining, minimum)), None)
        # the rules process has decoded the traces of its node
        guard.attempt("trace decoding", lambda: self._decoder.finish(deadline.remaining), None)
        if has_failed or guard.attempt("rules", self._rules.is_worthwhile, default=True):
            patience = prompt.remaining if prompt else None
            guard.attempt("report", lambda: self.reporter.write(deadline.remaining, patience), None)
        else:
            self.reporter.skip("no training was recorded")

    def seal_all(self, seconds: float) -> None:
        """Seal the files of a finished job."""
        self._guard.attempt("sealing", lambda: self._sealer.seal_all(seconds), None)
