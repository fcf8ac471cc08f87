"""Turn the boosting rounds of a library into steps, losses and evaluations."""

from collections.abc import Callable

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.inspector import Inspector
from sonde.hook.boosting.results import ResultRecorder, Results, Training
from sonde.hook.round_counter import CountedRounds, ReadColumns, RoundCounter
from sonde.hook.session import Session
from sonde.records.notice import NoticeKind
from sonde.records.observation import ObservationKind
from sonde.records.observations.boosting import EarlyStop, Hyperparameters
from sonde.records.step import EventCategory, Mode, Phase

GROWTH = "tree_growth"  # the phase of a round that adds trees

_TRAIN = Mode.TRAIN.value
_LOSS, _LEARNING_RATE = "loss", "learning_rate"


class BoostingRounds:
    """Records rounds; one training at a time."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._inspector = Inspector(session)
        self._measure_loss = session.guard.shield("computed losses", self._computed_loss, None)
        self._results = ResultRecorder(session, self._inspector, self._measure_loss)
        self.counter = RoundCounter(session, self._inspector, self._record_counted)
        self._trainings = 0
        self._start_ns = self._grown_ns = 0
        self._is_inspected = False  # the last recorded round
        self.training: Training | None = None
        session.listeners.on_begin(self._reset)

    def _reset(self) -> None:
        self._trainings, self.training = 0, None

    def begin_training(self, model: BoostedModel) -> None:
        """Begin a training; time before its first round is not part of a step."""
        session = self._session
        self.counter.stop()
        self._trainings += 1
        session.steps.close()
        session.overhead.interrupt()
        step = session.steps.counts[_TRAIN]
        self.training = Training(model, self._trainings, step)
        session.recorder.observe(
            ObservationKind.NEW_OPTIMIZER, str(self._trainings), at=(_TRAIN, step)
        )

    def begin_round(self) -> None:
        """Begin a round that is recorded by itself: the library is about to add trees."""
        self.counter.stop()
        self._start_ns = self._session.clock.now_ns()
        self._grown_ns = 0

    def trees_grown(self) -> None:
        """Mark the end of tree growth: the library is about to evaluate."""
        if self._start_ns:
            self._session.steps.span(GROWTH, self._start_ns, EventCategory.USER.value)
        self._grown_ns = self._session.clock.now_ns()

    def end_round(self, results: Results, learning_rate: float | None = None) -> None:
        """End a round.

        Args:
            results: The metrics that the library has computed, by data set.
            learning_rate: The learning rate of the round.
        """
        session, training = self._session, self.training
        if training is None or not self._grown_ns:
            return
        if results:
            session.steps.span(Phase.EVALUATION.value, self._grown_ns)
        if not training.rounds:
            self._record_hyperparameters(training)
        if learning_rate is not None and learning_rate != training.learning_rate:
            training.learning_rate = learning_rate
            session.recorder.scalar(_LEARNING_RATE, learning_rate)
        self._results.record(training, results)
        self._is_inspected = self._inspector.is_due()
        if self._is_inspected:
            self._inspector.inspect(training.model)
        training.rounds += 1
        self._start_ns = 0
        session.steps.end_round(training.number)

    def count(self, subject: Callable[[], object], read: ReadColumns) -> None:
        """Only count the next rounds of a subject, if recording each would cost too much.

        Readers estimate their phases from the last recorded round, so that must not contain an
        inspection.
        """
        if self.training is not None and not self._is_inspected:
            self.counter.begin_if_worthwhile(self.training.rounds, subject, read)

    def end_training(
        self, best_round: int | None, score: float | None, *, is_stopped: bool
    ) -> None:
        """End a training.

        Args:
            best_round: The best round according to early stopping, if that is used.
            score: The score of that round.
            is_stopped: Whether early stopping has ended the training.
        """
        self.counter.stop()
        training, self.training = self.training, None
        if training is None or not training.rounds:
            return
        self._results.finish(training)
        session, last = self._session, (_TRAIN, training.first_step + training.rounds - 1)
        if best_round is not None:
            record = EarlyStop(score, training.rounds, is_stopped)
            step = training.first_step + best_round
            kind = ObservationKind.EARLY_STOPPING
            session.recorder.observe(kind, training.model.library, step, record.encode(), last)
        if not training.has_latest_loss:
            loss = self._measure_loss(training, training.model.data_sets[0], True)
            if loss is not None:
                session.recorder.scalar(_LOSS, loss, at=last)
        self._inspector.inspect_final(training.model, last)

    def _record_hyperparameters(self, training: Training) -> None:
        values = dict(training.model.hyperparameters())
        record = Hyperparameters(values)
        kind, library = ObservationKind.HYPERPARAMETERS, training.model.library
        self._session.recorder.observe(kind, library, training.number, record.encode())
        self._inspector.save_hyperparameters(values)

    def _record_counted(self, rounds: CountedRounds) -> None:
        if self.training is not None:
            self._results.record_counted(self.training, rounds)

    def _computed_loss(
        self, training: Training, data_set: DataSet, is_final: bool = False
    ) -> float | None:
        """The loss, computed here if the budget allows, because the library does not report it."""
        session, model, cost = self._session, training.model, training.cost
        objective, budget = model.objective, session.overhead.budget
        if objective is None or training.loss_name not in ("", objective.loss_name):
            kind = NoticeKind.NOT_COLLECTED
            session.store.notice(kind, f"loss of {data_set.name}", _no_loss_reason(training))
            return None
        if not (is_final or budget.records_every_step or budget.has_room_for(cost)):
            return None
        began_ns = thread_cpu_ns()
        margins, labels = model.margins(data_set), model.labels(data_set)
        if len(margins) != len(labels):
            return None  # several targets
        loss = objective.mean_loss(margins, labels, model.weights(data_set))
        cost.inline.learn((thread_cpu_ns() - began_ns) / NANOSECONDS)
        return loss


def _no_loss_reason(training: Training) -> str:
    metric = training.loss_name or "the loss of this objective"
    return (
        f"Sonde cannot compute {metric} itself; {training.model.library} computes it if the data "
        "is one of the evaluation sets"
    )
