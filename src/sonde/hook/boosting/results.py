"""Record the losses, metrics and evaluations that a library has computed in boosting rounds."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from math import ceil, isfinite, log2, nan

from sonde.clock import NANOSECONDS, thread_cpu_ns
from sonde.formats import format_duration, format_percent
from sonde.hook.boosting.boosted_model import BoostedModel, DataSet
from sonde.hook.boosting.inspector import Inspector
from sonde.hook.boosting.metrics import main_loss
from sonde.hook.budget import Measurement
from sonde.hook.round_counter import Column, CountedRounds
from sonde.hook.session import Session
from sonde.records.evaluation import Evaluation
from sonde.records.notice import NoticeKind
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

Results = Mapping[str, Mapping[str, float]]  # by data set and metric
MeasureLoss = Callable[["Training", DataSet], float | None]

_TRAIN = Mode.TRAIN.value
_LOSS, _LEARNING_RATE = "loss", "learning_rate"
_MIN_EVALUATED = 200  # the first rounds of a process have every metric and evaluation
_EVALUATION_SHARE = 0.3  # of the budget, for metrics and evaluations of counted rounds
_FIRST_COST_SECONDS = 50e-6  # of the metrics and evaluations of a round, until it is measured
_SMOOTHING = 0.3
_REPORTED_FACTOR = 4  # a notice reports that the interval has grown by this factor


@dataclass(slots=True)
class Training:
    """One training: a call of the library that adds rounds to a model."""

    model: BoostedModel
    number: int  # in this process
    first_step: int
    rounds: int = 0
    learning_rate: float | None = None
    loss_name: str = ""  # the metric that is recorded as the loss; empty if none is
    has_latest_loss: bool = False  # whether the loss of the last round was recorded
    cost: Measurement = field(default_factory=Measurement)  # of computing losses ourselves


class ResultRecorder:
    """Records results: of a round, or of many rounds in bulk."""

    def __init__(self, session: Session, inspector: Inspector, measure_loss: MeasureLoss) -> None:
        self._session = session
        self._inspector = inspector
        self._measure_loss = measure_loss
        self._round_seconds = _FIRST_COST_SECONDS  # CPU time to record the results of a round
        self._reported_stride = 1
        self._skipped: CountedRounds | None = None  # the last rounds, if the last was skipped

    def record(self, training: Training, results: Results) -> None:
        """Record the training loss, and the evaluation of every other data set."""
        self._skipped = None
        recorder, model = self._session.recorder, training.model
        sets = {data_set.name: data_set for data_set in model.data_sets}
        if not training.loss_name:
            training.loss_name = next(filter(None, map(main_loss, results.values())), "")
        trained = _trained(sets, results)
        loss = results[trained[0]].get(training.loss_name) if trained else None
        if loss is None:
            loss = self._measure_loss(training, model.data_sets[0])
        training.has_latest_loss = loss is not None
        if loss is not None:
            recorder.scalar(_LOSS, loss)
        for name, metrics in results.items():
            for metric, value in metrics.items():
                if metric != training.loss_name:
                    recorder.scalar(f"{name}/{metric}", value, model.library)
            if name in sets and name not in trained:
                self._record_evaluated(training, sets[name], metrics)

    def _record_evaluated(
        self, training: Training, data_set: DataSet, metrics: Mapping[str, float]
    ) -> None:
        """Record the evaluation of a data set in the current round."""
        loss = metrics.get(training.loss_name)
        if loss is None:
            loss = self._measure_loss(training, data_set)
        session, library = self._session, training.model.library
        done, now_ns = session.steps.counts[_TRAIN] + 1, session.clock.now_ns()
        self._record_evaluation(library, data_set, (loss, metrics), done, now_ns)

    def record_counted(self, training: Training, rounds: CountedRounds) -> None:
        """Record the losses of all rounds, and other results as often as the budget allows."""
        sets = {data_set.name: data_set for data_set in training.model.data_sets}
        trained = _trained(sets, rounds.columns)
        for position, rate in rounds.rates:
            if rate != training.learning_rate:
                training.learning_rate = rate
                at = (_TRAIN, rounds.first + position)
                time_ns = rounds.ends_ns[position]
                self._session.recorder.scalar_at(_LEARNING_RATE, rate, time_ns, at)
        columns = rounds.columns[trained[0]] if trained else {}
        losses: Column = columns.get(training.loss_name, ((), ()))
        self._record_losses(rounds, losses)
        count = len(rounds.ends_ns)
        training.has_latest_loss = bool(losses[0]) and losses[0][-1] == count - 1
        selected = self._select(training, rounds)
        self._skipped = None if count - 1 in selected else rounds
        self._record_metrics(training, rounds, selected)
        training.rounds += count

    def finish(self, training: Training) -> None:
        """Record the results of the last round of a training, if they were skipped."""
        rounds, self._skipped = self._skipped, None
        if rounds is not None:
            self._record_metrics(training, rounds, {len(rounds.ends_ns) - 1})

    def _record_losses(self, rounds: CountedRounds, losses: Column) -> None:
        recorder, (positions, values) = self._session.recorder, losses
        if all(map(isfinite, values)):
            times_ns = map(rounds.ends_ns.__getitem__, positions)
            recorder.scalars_at(_LOSS, values, times_ns, map(rounds.first.__add__, positions))
            return
        for position, value in zip(positions, values, strict=True):  # informs listeners
            recorder.scalar(_LOSS, value, at=(_TRAIN, rounds.first + position))

    def _select(self, training: Training, rounds: CountedRounds) -> set[int]:
        """The positions of the rounds whose metrics and evaluations are recorded."""
        if not _has_more_than_losses(training, rounds):
            return set()
        session, count = self._session, len(rounds.ends_ns)
        budget, step_seconds = session.overhead.budget, session.steps.latest_seconds
        allowed_seconds = max(_EVALUATION_SHARE * budget.share * step_seconds, 1e-9)
        # powers of two, so that the recorded rounds are regular
        stride = 1 << max(0, ceil(log2(self._round_seconds / allowed_seconds)))
        if rounds.first + count > _MIN_EVALUATED and stride >= (
            _REPORTED_FACTOR * self._reported_stride
        ):
            self._reported_stride = stride
            self._report(stride, step_seconds)
        return {
            position
            for position in range(count)
            if rounds.first + position < _MIN_EVALUATED
            or (training.rounds + position) % stride == 0
        }

    def _report(self, stride: int, step_seconds: float) -> None:
        """Record that metrics and evaluations of most rounds are skipped."""
        step, percent = format_duration(step_seconds), self._session.overhead.budget.percent
        reason = (
            f"recorded for about 1 in {stride} rounds: a round takes {step}, and Sonde may use "
            f"{format_percent(percent)} of it"
        )
        self._session.store.notice(NoticeKind.CHANGED, "metrics and evaluations", reason)

    def _record_metrics(
        self, training: Training, rounds: CountedRounds, selected: set[int]
    ) -> None:
        """Record the metrics and evaluations of the rounds at these positions."""
        if not selected:
            return
        began_ns, model = thread_cpu_ns(), training.model
        sets = {data_set.name: data_set for data_set in model.data_sets}
        trained = _trained(sets, rounds.columns)
        for name in rounds.columns:
            by_round = self._record_scalars(training, name, rounds, selected)
            if name in sets and name not in trained:
                for position, metrics in by_round.items():
                    result = metrics.get(training.loss_name), metrics
                    done, time_ns = rounds.first + position + 1, rounds.ends_ns[position]
                    self._record_evaluation(model.library, sets[name], result, done, time_ns)
        seconds = (thread_cpu_ns() - began_ns) / NANOSECONDS / len(selected)
        self._round_seconds += _SMOOTHING * (seconds - self._round_seconds)

    def _record_scalars(
        self, training: Training, name: str, rounds: CountedRounds, selected: Collection[int]
    ) -> dict[int, dict[str, float]]:
        """Record the metrics of a data set; return them by position and metric."""
        recorder, by_round = self._session.recorder, dict[int, dict[str, float]]()
        for metric, column in rounds.columns[name].items():
            pairs = [pair for pair in zip(*column, strict=True) if pair[0] in selected]
            for position, value in pairs:
                by_round.setdefault(position, {})[metric] = value
            if metric != training.loss_name and pairs:
                positions, values = zip(*pairs, strict=True)
                times_ns = map(rounds.ends_ns.__getitem__, positions)
                numbers, subject = map(rounds.first.__add__, positions), f"{name}/{metric}"
                library = training.model.library
                recorder.scalars_at(subject, values, times_ns, numbers, library)
        return by_round

    def _record_evaluation(
        self,
        library: str,
        data_set: DataSet,
        result: tuple[float | None, Mapping[str, float]],
        done: int,
        time_ns: int,
    ) -> None:
        """Record the loss and the metrics of a data set after `done` rounds."""
        loss, metrics = result
        name = data_set.name
        evaluation = Evaluation(
            name,
            f"{library} evaluation set {name}",
            done,
            data_set.rows,
            1,
            loss,
            metrics=metrics,
            hits=self._inspector.hits.get(name, {}),
        )
        value, detail = nan if loss is None else loss, evaluation.detail()
        kind, at = ObservationKind.EVALUATION, (_TRAIN, done)
        self._session.recorder.observe_at(kind, name, value, detail, time_ns, at)


def _trained(sets: Mapping[str, DataSet], names: Iterable[str]) -> list[str]:
    """The names of results on training data."""
    return [name for name in names if name in sets and sets[name].is_training_data]


def _has_more_than_losses(training: Training, rounds: CountedRounds) -> bool:
    """Whether there are other metrics, or data sets that are not trained on."""
    sets = {data_set.name: data_set for data_set in training.model.data_sets}
    trained = _trained(sets, rounds.columns)
    return any(
        name not in trained or metrics.keys() != {training.loss_name}
        for name, metrics in rounds.columns.items()
    )
