"""Evaluations: batches between two training steps become one named result per data set.

The data set of a batch is identified by the data loader iterator that delivered it and by the call
site that started the iterator; without a loader, by the call site of the forward pass. Each result
is an observation of kind `evaluation` at the number of completed training steps. Rules read them
with `sonde.read.evaluations.evaluations_in(window)`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn

from sonde.hook.call_site import TRAIN, CallSites, Chain, site_within, split_of
from sonde.hook.session import Session
from sonde.hook.steps import FinishedStep, Pass, StepId
from sonde.hook.torch.data.loader_iterations import Feed, may_be_rebuilt, no_data_set, reference
from sonde.hook.torch.loop.evaluation_numbers import number, reported_loss, rows_in
from sonde.hook.torch.loop.evaluation_tally import Batch, Series, Tally
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.model_copies import ModelLabels
from sonde.hook.torch.loop.modules import Modules
from sonde.records.evaluation import Evaluation
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

TASK = "evaluations"
_MAX_SERIES = 64
_MAX_FEEDS = 256
_INNER_FRAMES = 2  # frames of the script: the loop over the loader, and its caller
_MAX_TRAINING_SITES = 4
# passes without gradients that belong to training, such as a policy collecting data
_MAX_UNUSED_PASSES = 256


class Evaluations:
    """Assigns batches to evaluations and records each evaluation when it ends."""

    def __init__(self, session: Session, modules: Modules) -> None:
        self._session = session
        self._modules = modules
        self._sites = CallSites()
        self._model_labels = ModelLabels(modules)
        self._feeds = modules.deferred.feeds
        self._reset()
        session.listeners.on_begin(self._reset)
        modules.passes.listen(TASK, begins=self._begins)
        modules.passes.at_evaluation.append(
            session.guard.shield(TASK, self._on_deferred_pass, None)
        )
        self._feeds.create_batches_with(session.guard.shield(TASK, self._batch_of, None))

    def _reset(self) -> None:
        self._trained_on: list[Callable[[], Any]] = []  # data sets
        self._training_sites: list[Chain] = []
        self._series: list[Series] = []
        self._open: list[Tally] = []
        self._latest: Batch | None = None
        self._unused_passes = 0
        self._feeds.clear()
        self._title = ""  # the framework's title of the current evaluation

    def iterates(self, loader: Any, iterator: Any) -> None:
        """Register a new iteration over a data loader."""
        chain = self._sites.chain()
        feed = Feed(chain, self._sites.describe(chain), reference(loader.dataset))
        feeds = self._feeds.by_iterator
        for earlier in feeds.values():
            if earlier.is_training and earlier.chain == chain:
                feed.is_training |= earlier.data_set() is feed.data_set()
        self._remember_training()
        feeds[id(iterator)] = feed
        if len(feeds) > _MAX_FEEDS:
            del feeds[next(iter(feeds))]

    def set_title(self, title: str) -> str:
        """Set the framework's title for subsequent evaluations; return the previous title."""
        before, self._title = self._title, title
        return before

    def report(self, numbers: Sequence[Mapping[str, Any]]) -> None:
        """Add metrics that a framework reports for evaluations of the current title, in order."""
        titled = [tally for tally in self._open if tally.series.title == self._title]
        # a reference model or moving average may be evaluated alongside the trained one
        tallies = [tally for tally in titled if not tally.series.model] or titled
        for tally, values in zip(tallies[-len(numbers) :], numbers, strict=False):
            parsed = {name: number(value) for name, value in values.items()}
            tally.metrics |= {name: value for name, value in parsed.items() if value is not None}

    def end(self) -> None:
        """End all evaluations: training continues or the job ends."""
        tallies, self._open = self._open, []
        self._latest = None
        if tallies:
            self._remember_training()
        for tally in tallies:
            tally.is_over = True
            if not tally.awaited:
                self._record(tally)

    def after_step(self, step: FinishedStep) -> None:
        """End evaluations when a training step has finished."""
        if step.mode == Mode.TRAIN and self._open:
            self.end()

    def _begins(
        self, forward: ForwardPass, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if forward.kind is Pass.TRAIN:
            self._feeds.training_passes += 1
            self._feeds.latest.is_training = True
            if len(self._training_sites) < _MAX_TRAINING_SITES:
                self._training_sites.append(self._sites.chain())
                self._model_labels.training_begins()
            return
        if forward.kind is Pass.EVAL or self._unused_passes < _MAX_UNUSED_PASSES:
            batch = self._batch_of(module, args, kwargs)
            if batch is not None:
                self._await_step(forward, batch)

    def _on_deferred_pass(self, forward: ForwardPass, _losses: object) -> None:
        if forward.batch is not None:
            self._await_step(forward, forward.batch)

    def _await_step(self, forward: ForwardPass, batch: Batch) -> None:
        forward.batch = batch
        done = self._steps_done()

        def settled(at: StepId) -> None:
            if at[0] == Mode.PREDICT:
                forward.batch = None
                return
            if at[0] == Mode.TRAIN or at[1] < 0:
                self._unused_passes += forward.kind is not Pass.EVAL
                forward.batch = None
                return
            self._unused_passes = 0
            tally = batch.tally = self._tally_of(batch, done)
            tally.rows += batch.rows
            tally.batches += 1
            first, last = tally.eval_steps or (at[1], at[1])
            tally.eval_steps = (min(first, at[1]), max(last, at[1]))

        forward.when_settled(settled)

    def _steps_done(self) -> int:
        """The number of training steps whose optimizers have stepped, including an open step."""
        steps = self._session.steps
        if steps.forced_mode is not None:
            return steps.counts["train"]
        return steps.possible_steps(Pass.TRAIN)[-1][1]

    def _batch_of(
        self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Batch | None:
        """Identify the data of a pass; called when the pass begins."""
        model, feeds, latest = self._model_labels.label(module), self._feeds, self._latest
        feed: Feed | None = feeds.latest
        if feeds.latest.is_training:
            chain = self._sites.chain()
            feed = self._feed_ahead(chain)
        elif not feeds.latest.pass_chain:
            feeds.latest.pass_chain = self._sites.chain()
        if feed is None:
            series = self._series_of_call(chain, model, module)
        elif latest is not None and latest.feed is feed and latest.series.model == model:
            series = latest.series
        else:
            series = self._series_of_feed(feed, model)
        self._latest = batch = Batch(series, feed, rows_in((*args, *kwargs.values())))
        batch.training_passes = feeds.training_passes
        return batch

    def _feed_ahead(self, chain: Chain) -> Feed | None:
        """The feed of a prefetching loader that ends before its last batch is used, or None."""
        latest = self._latest
        if latest is None or latest.feed is None or latest.feed.pass_chain != chain:
            return None
        return latest.feed if latest.training_passes == self._feeds.training_passes else None

    def _series_of_feed(self, feed: Feed, model: str) -> Series:
        data_set = feed.data_set()
        reusable: Series | None = None
        for series in self._series:
            if (series.model, series.title, series.is_loader) != (model, self._title, True):
                continue
            if series.chain != feed.chain and not self._title:
                continue  # if there is a title, the call site is ignored
            series_data_set = series.data_set()
            if series_data_set is data_set:
                return series
            is_used = any(tally.series is series for tally in self._open)
            if not is_used and (
                series_data_set is None or may_be_rebuilt(series_data_set, data_set)
            ):
                reusable = (
                    reusable or series
                )  # scripts may rebuild the data set for each evaluation
        if reusable is not None:
            reusable.data_set = feed.data_set
            return reusable
        new = Series(feed.chain, feed.frames, feed.data_set, True, model, self._title)
        return self._series_of_same_code(feed, data_set, model) or self._add(new)

    def _series_of_same_code(self, feed: Feed, data_set: Any, model: str) -> Series | None:
        """The series with the same data set and inner frames, if it is not in use.

        A second training phase may call the same functions from another line.
        """
        used = [tally.series for tally in self._open]
        inner = feed.chain[:_INNER_FRAMES]
        for series in self._series:
            is_same_model = (series.model, series.title) == (
                model,
                self._title,
            ) and series.is_loader
            is_same_code = len(inner) == _INNER_FRAMES and series.chain[:_INNER_FRAMES] == inner
            is_same_code = is_same_code or self._is_same_site(series.chain, feed.chain)
            is_same_data = data_set is not None and series.data_set() is data_set
            if is_same_model and is_same_code and is_same_data and series not in used:
                return series
        return None

    def _series_of_call(self, chain: Chain, model: str, module: nn.Module) -> Series:
        key = (model, self._title, False)
        candidates = [
            candidate
            for candidate in self._series
            if (candidate.model, candidate.title, candidate.is_loader) == key
        ]
        for series in candidates:
            if series.chain == chain:
                return series
        used = [tally.series for tally in self._open]
        for series in candidates:
            is_same_site = self._is_same_site(series.chain, chain)
            if is_same_site and series.module() is module and series not in used:
                series.chain = chain
                return series
        frames, module_of = self._sites.describe(chain), reference(module)
        return self._add(Series(chain, frames, no_data_set, False, model, self._title, module_of))

    def _is_same_site(self, chain: Chain, second_chain: Chain) -> bool:
        """Whether two call sites differ only in the caller of a function that also trains."""
        trainings = self._training_sites
        return site_within(chain, trainings) == site_within(second_chain, trainings)

    def _add(self, series: Series) -> Series:
        if len(self._series) >= _MAX_SERIES:
            return self._series[-1]
        self._series.append(series)
        return series

    def _tally_of(self, batch: Batch, done: int) -> Tally:
        for tally in self._open:
            if tally.series is batch.series and tally.feed is batch.feed:
                return tally
        tally = Tally(batch.series, batch.feed, done, self._record)
        self._open.append(tally)
        return tally

    def _remember_training(self) -> None:
        for feed in self._feeds.by_iterator.values():
            if feed.is_training:
                if feed.chain not in self._training_sites:
                    self._training_sites.append(feed.chain)
                data_set = feed.data_set()
                if not any(trained_data_set() is data_set for trained_data_set in self._trained_on):
                    self._trained_on.append(feed.data_set)

    def _record(self, tally: Tally) -> None:
        series = tally.series
        if not (series.is_loader or tally.sums or tally.metrics):
            return  # inference only, such as a policy collecting data
        if not series.name:
            self._describe(series)
        losses = tally.losses()
        batch_loss = losses.pop("loss", None)
        reported = reported_loss(tally.metrics, series.title)
        loss = batch_loss if reported is None else reported
        components = {name.removeprefix("loss/"): component for name, component in losses.items()}
        first, last = tally.eval_steps or (0, 0)
        evaluation = Evaluation(
            series.name,
            series.data,
            tally.step,
            tally.rows,
            tally.batches,
            loss,
            batch_loss=None if reported is None else batch_loss,
            is_training_data=series.is_training_data,
            model=series.model,
            first_eval_step=first,
            last_eval_step=last,
            metrics=components | tally.metrics,
            hits=tally.hits,
        )
        value = math.nan if loss is None else loss
        at = (Mode.TRAIN.value, tally.step)
        kind = ObservationKind.EVALUATION
        self._session.recorder.observe(kind, series.name, value, evaluation.detail(), at)

    def _describe(self, series: Series) -> None:
        """Name a series by its split if it can be derived from the script, else by number."""
        shared = {key for chain in self._training_sites for key in chain}
        split_and_frame = split_of(series.frames, shared)
        data_set = series.data_set()
        is_trained_on = data_set is not None and any(
            trained_data_set() is data_set for trained_data_set in self._trained_on
        )
        split = series.title or (split_and_frame[0] if split_and_frame else "evaluation")
        if is_trained_on or split == TRAIN:
            split, series.is_training_data = "train (evaluated)", True
        frame = split_and_frame[1] if split_and_frame else next(iter(series.frames), None)
        kind = "loader" if series.is_loader else "call"
        series.data = f"{kind} at {frame.file}:{frame.line}" if frame else kind
        if series.model:
            split = series.model if split == "evaluation" else f"{split} ({series.model})"
        series.name = self._unique(split)

    def _unique(self, name: str) -> str:
        names = {series.name for series in self._series}
        number, unique = 1, name
        while unique in names:
            number += 1
            unique = f"{name} {number}"
        return unique
