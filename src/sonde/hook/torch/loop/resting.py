"""Rest: between two inspections of a loop of small steps, the hooks are out of the way.

A step of half a millisecond leaves no room for hooks at every call: 1% of it is 5 µs. So while
nothing is due, no module has a hook, replaced functions call the original at once, and only the
ends of steps are kept, with their losses where that is affordable. The kept ends and losses become
records in bulk. The hooks return when the overhead budget has room for the next inspection.
"""

from collections.abc import Callable
from math import ceil, nan
from threading import get_ident
from typing import Any, Protocol

from torch import Tensor
from torch._C import (
    _current_graph_task_id,
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
)
from torch.optim import Optimizer

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.budget import COLD, COUNTED_LOSS_NS, COUNTED_STEP_NS
from sonde.hook.counted_steps import LANE
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.loop.inspection_cost import InspectionCost
from sonde.hook.torch.loop.losses import Losses, operation_of
from sonde.hook.torch.loop.optimizers import Optimizers
from sonde.hook.torch.loop.step_ends import ClippedNorm, StepEnds
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in
from sonde.records.notice import NoticeKind
from sonde.records.step import EventCategory, Mode, Phase

_MAX_DELAY_NS = NANOSECONDS // 2  # readers do not wait longer for counts and losses
_MAX_STEPS = 4096
_NEVER = 1 << 62
_LOSS_SHARE = 1.0  # of the budget, for the losses of counted steps
LONG_WAIT_NS = 2_000_000  # for data: recorded with a step that is only counted
_MIN_REPORTED_STEPS = 2000
_REPORTED_CHANGE = 4
_MAX_LOSS = 3.4e38  # of losses that are numbers
_MIN_BARE_SHARE = 0.2  # of an inspected step is the training's own work
_MAX_COUNTED_STEPS = 2.0  # an inspected step is not taken for longer than so many counted ones

_TRAIN, _PHASE, _DATA_WAIT = Mode.TRAIN.value, EventCategory.PHASE.value, Phase.DATA_WAIT.value


class Removable(Protocol):
    """Hooks or replaced functions that can be taken out for a while."""

    def take_out(self) -> None:
        """Take everything out."""

    def put_back(self) -> None:
        """Put back what was taken out."""


class Rest:
    """Whether the hooks are out of the way, and what was kept meanwhile."""

    __slots__ = (
        *("notes", "keeps_losses", "deadline_ns", "left", "rates", "is_allowed"),
        *("_latest_rate", "_limit", "_usual", "_is_interrupted", "on_evaluation", "on_bad_loss"),
        *("_session", "removable", "_cost", "_has_evaluated", "_ends", "_end_ns", "_due_in"),
        *("_counted", "_inspected", "_said", "_said_losses", "_seconds", "_turns", "_is_wanted"),
        *("on_begin", "on_counted", "_optimizers", "_losses", "_kinds", "_is_alone"),
    )

    def __init__(self, session: Session, *removable: Removable) -> None:
        self.notes: list[Any] = []  # see StepEnds
        self.keeps_losses = False
        self.rates: list[Any] = []
        self._latest_rate: object = None  # of the last group
        self._limit = 0.0  # losses beyond it are inspected
        self._usual: set[type] = set()  # graph nodes that losses came from so far
        self.deadline_ns = 0
        self.left = 0
        self.is_allowed = True  # not where a compiler has looked at what we replaced
        self.on_begin: list[Callable[[], None]] = []
        self.on_counted: list[Callable[[int], None]] = []  # told how many steps were only counted
        self._session = session
        self._cost = InspectionCost(session)
        self._has_evaluated = False  # since the hooks returned
        self.removable: list[Removable] = [*removable]  # what is out of the way at rest
        self._ends = StepEnds()
        self._end_ns = 0
        self._due_in = 0  # steps until something is due whatever it costs
        self._turns = 0
        self._is_wanted = False
        self._is_interrupted = False  # by an evaluation
        self.on_evaluation: Callable[[], None] = lambda: None
        # reports what went into a loss out of range, and returns it
        self.on_bad_loss: Callable[[Tensor], list[Tensor] | None] = lambda _root: None
        self._counted = self._inspected = 0
        self._said = self._said_losses = 0.0  # what was said: one of so many
        self._seconds = 0.0  # a step
        session.state.rest_with(self.flush)
        session.listeners.on_step("rest", self._step_over)

    def follow(self, optimizers: Optimizers, losses: Losses, kinds: set[str]) -> None:
        """Count the steps of these optimizers, and inspect losses that are unusual.

        Args:
            optimizers: Whose steps.
            losses: Know which losses are in range.
            kinds: The operations that losses came from so far.
        """
        self._optimizers, self._losses, self._kinds = optimizers, losses, kinds

    def step_seconds(self, latest_seconds: float) -> float:
        """How long steps take without us.

        Args:
            latest_seconds: How long the latest took, which was inspected.
        """
        without_inspection = (
            latest_seconds - self._session.overhead.budget.latest_inspection_seconds
        )
        bare = max(without_inspection, _MIN_BARE_SHARE * latest_seconds)
        return min(bare, _MAX_COUNTED_STEPS * self._seconds) if self._seconds else bare

    def begin(self, step_seconds: float, due_in: int, keeps_losses: bool) -> None:
        """Take the hooks out after a training step.

        Args:
            step_seconds: How long steps take.
            due_in: Steps until something is due whatever it costs.
            keeps_losses: Whether the losses of the steps may be kept.
        """
        self._seconds, self._due_in = step_seconds, due_in
        self._inspected += 1
        if self._is_interrupted:
            self._is_interrupted = False
            self._session.overhead.budget.interruption_took(
                self._session.overhead.budget.latest_inspection_seconds
            )
        self._ends.stepped.clear()
        self.keeps_losses = keeps_losses and self._may_keep_losses()
        self._plan()
        self._take_out()

    def begin_outside(self) -> None:
        """Take the hooks out until an optimizer steps: calls outside of training cost too much."""
        self.keeps_losses = False
        self.left, self.deadline_ns, self._due_in = 1, _NEVER, 0
        self._ends.stepped.clear()
        self._take_out()

    def counting(self) -> Callable[[Optimizer, Any, Any], None]:
        """What keeps the end of an optimizer's step: one function, since it is called so often."""
        thread, now_ns = self._session.thread, self._session.clock.now_ns

        def count(optimizer: Optimizer, _args: Any, _kwargs: Any) -> None:
            if get_ident() != thread.id:
                return
            end_ns = now_ns()
            if self.keeps_losses and optimizer.param_groups[-1]["lr"] is not self._latest_rate:
                self._rates_changed(optimizer)
            self.notes.append(end_ns if self._is_alone else (end_ns, id(optimizer), None))
            self.left = steps_left = self.left - 1
            if steps_left <= 0 or end_ns >= self.deadline_ns:
                self.turn()

        return count

    def clipped(self, norm: Any, limit: Any) -> None:
        """Keep the gradient norm that somebody has computed to clip it, where losses are kept."""
        is_plain = type(norm) is Tensor and not (
            _len_torch_function_stack() or _len_torch_dispatch_stack()
        )
        if is_plain and self.keeps_losses and self._session.thread.is_current():
            self.notes.append(ClippedNorm(norm.item(), float(limit)))

    def _rates_changed(self, optimizer: Optimizer) -> None:
        rates = [group["lr"] for group in optimizer.param_groups]
        self._latest_rate = rates[-1]
        if rates != self.rates:
            self.rates = rates
            self.notes.append(rates)

    def around(self, original: Callable[..., Any], awake: Callable[..., Any]) -> Callable[..., Any]:
        """A backward pass: while hooks rest the original one, and only its loss is kept."""
        state = self._session.state
        function_modes, dispatch_modes = _len_torch_function_stack, _len_torch_dispatch_stack
        number_of_new_kind = hidden_from_modes(self._number_of_new_kind)

        def backward(*args: Any, **kwargs: Any) -> Any:
            try:
                if not state.is_resting:
                    return awake(*args, **kwargs)
                if not self.keeps_losses or not args or _current_graph_task_id() != -1:
                    return original(*args, **kwargs)
                root = args[0]
                is_plain = type(root) is Tensor and not (function_modes() or dispatch_modes())
                try:  # each further question to a tensor would cost a microsecond, with cold caches
                    is_plain = is_plain and type(root.grad_fn) in self._usual
                    value = root.item() if is_plain else number_of_new_kind(root)
                except RuntimeError:  # it is not a single number
                    value = None
                if value is None:
                    return original(*args, **kwargs)
                limit = self._limit
                if not -limit <= value <= limit:
                    inputs = self.on_bad_loss(root)
                    result = awake(*args, **kwargs)
                    del inputs  # kept alive until here: the origin check holds weak references
                    return result
                result = original(*args, **kwargs)
                self.notes.append(value)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        skip_in_compiler(awake)
        return backward

    def _number_of_new_kind(self, root: Any) -> float | None:
        """The number; NaN where the loss comes from an operation that was not seen before."""
        value = number_in(root)
        if value is None:
            return None
        kind, operation = type(root.grad_fn), operation_of(root)
        if operation not in self._kinds:
            return nan
        if operation == kind.__name__:  # one that only scales a loss says nothing about it
            self._usual.add(kind)
        return value

    def evaluates(self) -> None:
        """An evaluation begins: it is seen, unless evaluations have cost too much before."""
        session = self._session
        if session.thread.is_current() and not session.overhead.budget.is_overdrawn:
            began_ns = thread_cpu_ns()
            session.state.catch_up()
            self._is_interrupted = True
            self.on_evaluation()
            session.overhead.charge(int(COLD * (thread_cpu_ns() - began_ns)))

    def _take_out(self) -> None:
        session = self._session
        numbers = self._optimizers.by_identity
        self._ends.begin(numbers, session.steps.latest_optimizers)
        self._is_alone = len(numbers) == 1
        self.keeps_losses = self.keeps_losses and self._is_alone
        self._limit, self._latest_rate = min(self._losses.limit, _MAX_LOSS), None
        for prepare in self.on_begin:
            prepare()
        for removable in self.removable:
            removable.take_out()
        self._cost.hooks_leave(has_evaluated=self._has_evaluated)
        self._is_wanted = self._has_evaluated = False
        session.state.begin_rest()

    def _put_back(self) -> None:
        for removable in self.removable:
            removable.put_back()

    def _plan(self) -> None:
        """How many steps are counted before the next turn."""
        budget, seconds = self._session.overhead.budget, max(self._seconds, 1e-6)
        until_room = budget.steps_until_inspection(seconds)
        self.left = max(1, min(_MAX_STEPS, self._due_in, until_room))
        self.deadline_ns = self._session.clock.now_ns() + _MAX_DELAY_NS

    def _may_keep_losses(self) -> bool:
        """All of them where that is affordable, else those of one turn in several."""
        budget = self._session.overhead.budget
        allowed_ns = _LOSS_SHARE * budget.share * self._seconds * NANOSECONDS
        every = ceil(COUNTED_LOSS_NS / max(allowed_ns, 1.0))
        self._turns += 1
        if every > _REPORTED_CHANGE * self._said_losses or every > 1 > self._said_losses:
            self._said_losses = every
            self._say("losses", f"recorded for about 1 of {every} steps")
        return self._turns % every == 0

    def turn(self) -> None:
        """Enough steps were counted: record them, and inspect one again if the budget has room."""
        self._session.guard.call("notes", self._turn, None)

    def _turn(self) -> None:
        session = self._session
        if self.deadline_ns == _NEVER:
            self._seconds = session.steps.latest_seconds
        counted = self._counted
        self.flush()
        self._due_in -= self._counted - counted
        budget = session.overhead.budget
        is_due = self._due_in <= 0 or budget.has_room_for_inspection
        if is_due and self._ends.is_between_steps:
            session.state.catch_up()
        else:
            self.keeps_losses = self.keeps_losses and self._may_keep_losses()
            self._due_in = max(0 if is_due else 1, self._due_in)
            self._plan()

    def flush(self) -> None:
        """Record what was kept, and go on resting."""
        self._cost.settle()
        notes, self.notes = self.notes, []
        session, first = self._session, self._session.steps.counts[_TRAIN]
        counted = self._ends.sort(notes)
        ends_ns = counted.ends_ns
        self.notes[:0] = counted.pending
        if ends_ns:
            self._count(ends_ns, len(notes) - len(ends_ns))
        for position, loss in counted.losses:
            session.recorder.scalar_at("loss", loss, ends_ns[position], (_TRAIN, first + position))
        for position, extra in counted.extras:
            end_ns = ends_ns[position] if position < len(ends_ns) else self._end_ns
            self._record(first + position, extra, end_ns)

    def _count(self, ends_ns: list[int], extra_notes: int = 0) -> None:
        start_ns = self._session.steps.add_counted(ends_ns)
        self._end_ns = ends_ns[-1]
        count = len(ends_ns)
        for listener in self.on_counted:
            listener(count)
        self._counted += count
        self._seconds = (ends_ns[-1] - start_ns) / NANOSECONDS / count
        session = self._session
        hook_ns = count * COUNTED_STEP_NS + extra_notes * COUNTED_LOSS_NS
        session.overhead.account_counted(start_ns, ends_ns[-1], hook_ns)
        if self._inspected and self._counted >= _MIN_REPORTED_STEPS:
            every = (self._counted + self._inspected) / self._inspected
            if every > _REPORTED_CHANGE * self._said:
                self._said = every
                self._say("phases of steps", f"timed for about 1 of {every:.0f} steps")

    def _say(self, what: str, text: str) -> None:
        length, percent = 1000 * self._seconds, self._session.overhead.budget.percent
        reason = f"{text}: a step takes {length:.2g} ms, and Sonde may use {percent:g}% of it"
        self._session.store.notice(NoticeKind.CHANGED, what, reason)

    def _record(self, number: int, extra: Any, end_ns: int) -> None:
        at = (_TRAIN, number)
        if type(extra) is ClippedNorm:
            self._session.recorder.scalar_at("gradient_norm", extra.norm, end_ns, at)
            self._session.recorder.scalar_at("clip_factor", extra.factor, end_ns, at)
        elif type(extra) is list:
            for group, rate in enumerate(extra):
                self._session.recorder.scalar_at(f"learning_rate/{group}", rate, end_ns, at)
        else:
            start_ns, until_ns = extra
            length_ns = until_ns - start_ns
            self._session.recorder.event(
                (_DATA_WAIT, _PHASE, LANE, start_ns, length_ns, number, _TRAIN, "")
            )

    def end(self) -> None:
        """Put the hooks back, and record what was kept."""
        session = self._session
        session.state.end_rest()
        self.flush()
        self._cost.hooks_return()
        self._put_back()
        self.notes = []
        session.overhead.account(session.clock.now_ns(), session.clock.now_ns())
        stepped, self._ends.stepped = self._ends.stepped, []
        session.steps.carry(stepped)

    def forget(self) -> None:
        """In a forked child, what was kept is the parent's."""
        self._session.state.abandon_rest()
        self._put_back()
        self.notes, self._ends.stepped = [], []

    def end_soon(self) -> None:
        """The step under way is the last one that is only counted; called by any thread."""
        self._due_in = self.left = 0

    def give_up(self) -> None:
        """The hooks stay where they are from now on."""
        self.is_allowed = False
        if self._session.state.is_resting:
            self._session.state.catch_up()

    def _step_over(self, step: Any) -> None:
        """After each step that was seen; of evaluations, too much may have been."""
        self._has_evaluated = self._has_evaluated or step.mode != _TRAIN
        if step.mode != _TRAIN and self.is_allowed and self._session.overhead.budget.is_overdrawn:
            self._is_wanted = True
            if self._session.recorder.is_live:
                self.settle()

    def settle(self) -> None:
        """Begin the rest that evaluations have made necessary."""
        if not self._is_wanted or self._session.state.is_resting:
            return
        if self._session.steps.finish_repeated():
            self.begin_outside()
