"""The charts that show the findings of a rule, and the charts that matter most."""

from sonde.charts import CHARTS, charts_for_rule, key_charts
from sonde.records.need import Losses, Metric, Scalars, Steps
from sonde.rules import load_rule, rule_names

KINDS = [(name, CHARTS.load(name)) for name in CHARTS.names()]


def charts_of(rule: str) -> list[str]:
    return charts_for_rule(KINDS, rule, [need.label for need in load_rule(rule).needs])


def test_a_loss_spike_is_shown_on_the_loss_with_learning_rate_and_gradients() -> None:
    assert charts_of("LossSpike") == ["losses", "learning_rate", "gradient_norms"]


def test_a_rule_of_scalars_is_shown_on_the_chart_of_these_scalars_first() -> None:
    assert charts_of("LearningRateCollapse") == ["learning_rate"]
    assert charts_of("GradientNormSpike") == ["gradient_norms"]


def test_charts_that_name_a_rule_illustrate_it() -> None:
    assert charts_of("DataLoaderStarvation") == ["throughput", "loaders"]
    assert charts_of("LoadBalancing") == ["gpu_balance"]


def test_a_rule_of_the_user_is_shown_on_charts_of_the_data_it_needs() -> None:
    assert charts_for_rule(KINDS, "MyRule", [Losses().label])[0] == "losses"
    assert charts_for_rule(KINDS, "MyRule", [Metric("own.metric").label]) == []


def test_every_drawn_scalar_is_needed_by_some_rule() -> None:
    needed = {need for rule in rule_names() for need in load_rule(rule).needs}
    drawn = {need for _, kind in KINDS for need in kind.draws}
    assert drawn <= needed
    assert {Losses(), Steps(), Scalars("learning_rate*")} <= drawn


def test_the_chart_of_the_first_finding_comes_first() -> None:
    usual = ["losses", "fleet", "throughput", "node_heatmap", "gradient_norms"]
    assert key_charts(KINDS, []) == usual
    with_finding = key_charts(KINDS, [[], ["gpu_balance"], ["gradient_norms", "losses"]])
    assert with_finding[:2] == ["gradient_norms", "losses"]
