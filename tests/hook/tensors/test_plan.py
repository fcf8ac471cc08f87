"""The recording plan: what is due at a step, and what is recorded of each tensor."""

import re
import timeit

import pytest

from sonde.hook.tensors.collections import Collection, TensorRequest
from sonde.hook.tensors.plan import Plan
from sonde.records.step import Mode
from sonde.records.tensor import Reduction, TensorKind
from sonde.settings import HookSettings, read_collections

WEIGHT, GRADIENT = (TensorKind.WEIGHT,), (TensorKind.GRADIENT,)
RELU = (TensorKind.LAYER_OUTPUT, TensorKind.ACTIVATION, TensorKind.RELU_OUTPUT)


def plan_of(
    *saves: str,
    statistics: tuple[str, ...] = (),
    histogram_every: int = 0,
    needed: tuple[str, ...] | None = (),
) -> Plan:
    collections = read_collections(list(saves))
    return Plan(HookSettings(statistics, histogram_every, collections=collections, needed=needed))


def names(due: tuple[Collection, ...]) -> list[str]:
    return [collection.name for collection in due]


def test_by_default_weights_biases_and_gradients_are_due_at_every_training_step() -> None:
    plan = Plan(HookSettings())
    for step in (0, 1, 2, 100, 12345):
        due = plan.due(Mode.TRAIN, step)
        assert names(due) == ["weights", "biases", "gradients"]
        assert all(collection.is_budgeted for collection in due)
    assert plan.due(Mode.EVAL, 0) == plan.due(Mode.PREDICT, 0) == ()


def test_requested_collections_are_due_exactly_without_budgeted_ones() -> None:
    plan = plan_of("gradients:every=10", statistics=("weights",))
    assert names(plan.due(Mode.TRAIN, 20)) == ["gradients", "weights"]
    assert names(plan.due(Mode.TRAIN, 21)) == ["weights"]
    assert names(plan.due_exactly(Mode.TRAIN, 20)) == ["gradients"]
    assert plan.due_exactly(Mode.TRAIN, 21) == ()
    assert not plan.due_exactly(Mode.TRAIN, 20)[0].is_budgeted


def test_each_mode_has_its_own_schedule() -> None:
    plan = plan_of("outputs:train.every=10,eval.steps=3")
    due = {
        mode: [step for step in range(31) if plan.due(mode, step)]
        for mode in (Mode.TRAIN, Mode.EVAL, Mode.PREDICT)
    }
    assert due == {Mode.TRAIN: [0, 10, 20, 30], Mode.EVAL: [3], Mode.PREDICT: []}


def test_histograms_of_budgeted_collections_follow_their_interval() -> None:
    plan = plan_of(statistics=("weights",), histogram_every=10)
    histogram_steps = [
        step
        for step in range(35)
        if plan.request_for("fc.weight", WEIGHT, plan.due(Mode.TRAIN, step))
        == TensorRequest(histogram=True)
    ]
    assert histogram_steps == [0, 10, 20, 30]


def test_histogram_due_between_two_recorded_steps_is_recorded_at_the_next() -> None:
    plan = plan_of(statistics=("weights",), histogram_every=10)
    histogram_steps, since = [], -1
    for step in range(0, 50, 7):
        due = plan.due(Mode.TRAIN, step, since)
        request = plan.request_for("fc.weight", WEIGHT, due)
        histogram_steps += [step] if request and request.histogram else []
        since = step
    assert histogram_steps == [0, 14, 21, 35, 42]


def test_zero_means_no_histograms() -> None:
    plan = plan_of(statistics=("weights",))
    assert plan.request_for("fc.weight", WEIGHT, plan.due(Mode.TRAIN, 0)) == TensorRequest()


def test_requests_of_several_due_collections_are_merged() -> None:
    plan = plan_of(
        "gradients:every=2,values",
        "gradients:every=3,histogram",
        "fc:include=fc,every=5,reductions=prod+mean",
        statistics=("gradients",),
    )

    def at(step: int) -> TensorRequest | None:
        return plan.request_for("gradient/fc.weight", GRADIENT, plan.due(Mode.TRAIN, step))

    assert at(1) == TensorRequest()
    assert at(2) == TensorRequest(values=True)
    assert at(3) == TensorRequest(histogram=True)
    assert at(5) == TensorRequest(reductions=frozenset((Reduction.PROD,)))
    assert at(30) == TensorRequest(
        histogram=True, values=True, reductions=frozenset((Reduction.PROD,))
    )
    assert at(30) == at(30)


def test_tensor_outside_the_due_collections_is_not_recorded() -> None:
    plan = plan_of("gradients:include=^gradient/fc1", statistics=("biases",))
    due = plan.due(Mode.TRAIN, 0)
    assert plan.request_for("gradient/fc1.weight", GRADIENT, due) == TensorRequest()
    assert plan.request_for("gradient/fc2.weight", GRADIENT, due) is None
    assert plan.request_for("fc1.weight", WEIGHT, due) is None
    assert plan.request_for("gradient/fc1.weight", GRADIENT, ()) is None


@pytest.mark.parametrize("reduction", ["median", "quantiles"])
def test_reductions_derived_from_the_histogram_request_it(reduction: str) -> None:
    plan = plan_of(f"weights:reductions={reduction}")
    assert plan.request_for("fc.weight", WEIGHT, plan.due(Mode.TRAIN, 0)) == TensorRequest(
        histogram=True
    )


def test_only_kinds_of_recorded_collections_need_hooks() -> None:
    plain = plan_of(statistics=("weights", "biases", "gradients"))
    kinds = {kind for kind in TensorKind if plain.may_record(kind)}
    assert kinds == {TensorKind.WEIGHT, TensorKind.BIAS, TensorKind.GRADIENT}
    assert plan_of("relu_output").may_record(TensorKind.RELU_OUTPUT)
    assert not plan_of("relu_output").may_record(TensorKind.TANH_INPUT)
    for save in ("custom:include=relu", "all"):
        assert all(plan_of(save).may_record(kind) for kind in TensorKind)


def test_collections_needed_by_rules_are_sparse_except_weights_and_gradients() -> None:
    plan = plan_of(needed=("relu_output", "gradients", "class-*", "loss"))
    assert names(plan.sparse) == ["relu_output"]
    assert names(plan.due(Mode.TRAIN, 3)) == ["gradients"]
    assert plan.needs("class-hits")
    assert not plan.needs("unit-copies")
    assert plan.may_record(TensorKind.RELU_OUTPUT)
    assert not plan.records_tensor("relu_output_0", RELU)  # no hooks for every step


def test_everything_is_inspected_if_the_needs_of_rules_are_unknown() -> None:
    plan = plan_of(needed=None)
    assert len(plan.sparse) == 8
    assert plan.needs("unit-copies")
    assert plan.has_inspections
    assert not plan_of().has_inspections
    assert not Plan(HookSettings(statistics=(), inspections=False)).has_inspections


def test_rule_that_needs_all_gets_every_collection() -> None:
    plan = plan_of(needed=("all",))
    assert len(plan.sparse) == 9
    assert len(plan.due(Mode.TRAIN, 0)) == 4
    assert not plan.needs("class-hits")


def test_regular_expression_is_searched_in_the_tensor_name() -> None:
    plan = plan_of("custom:include=relu|tanh")
    assert plan.records_tensor("layer4.1.relu_output_0", RELU)
    assert plan.records_tensor("tanh.weight", WEIGHT)
    assert not plan.records_tensor("layer4.1.conv1_output_0", (TensorKind.LAYER_OUTPUT,))


def test_tensor_is_requested_by_name_only_with_a_regular_expression() -> None:
    assert plan_of("relu_output:include=layer4").is_named("layer4.1.relu_output_0", RELU)
    assert not plan_of("relu_output:include=layer3").is_named("layer4.1.relu_output_0", RELU)
    assert not plan_of("relu_output", "all").is_named("layer4.1.relu_output_0", RELU)


def test_tensor_lists_built_in_and_custom_collections() -> None:
    plan = plan_of("mine:include=relu", "theirs:include=conv", "activations:include=conv")
    collections = plan.collections_of("layer4.1.relu_output_0", RELU)
    assert collections == ("activations", "relu_output", "all", "mine")
    assert Plan(HookSettings()).collections_of("loss", (TensorKind.LOSS,)) == (
        *("losses", "all", "default"),
    )


def test_cache_of_tensor_names_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sonde.hook.tensors.plan._MAX_CACHED", 10)
    plan = plan_of("all:values")
    due = plan.due(Mode.TRAIN, 0)
    for number in range(100):
        assert plan.request_for(f"embedding{number}", (TensorKind.SAVED,), due) == TensorRequest(
            values=True
        )
    assert len(plan._requests) <= 10


def test_checking_what_is_due_is_fast() -> None:
    plan = plan_of("gradients:every=1000", "weights:start=500", "labels:steps=7+8", "all:every=999")
    assert plan.due(Mode.TRAIN, 3) == ()
    search_seconds = min(timeit.repeat(lambda: re.match("a*b", "a" * 200), number=2000, repeat=5))
    due_seconds = min(timeit.repeat(lambda: plan.due(Mode.TRAIN, 3), number=2000, repeat=5))
    assert due_seconds < 20 * search_seconds
