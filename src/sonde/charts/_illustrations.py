"""Which charts show the findings of a rule, and which charts matter most for a job."""

from collections.abc import Iterable, Sequence

from sonde.charts._chart import Chart


def charts_for_rule(
    kinds: Sequence[tuple[str, type[Chart]]], rule: str, needs: Sequence[str]
) -> list[str]:
    """The names of the charts that show what a rule looks at, the most relevant first.

    Args:
        kinds: All charts with their names.
        rule: The name of the rule.
        needs: The labels of the data that the rule needs.
    """
    ranked = []
    for name, kind in kinds:
        labels = [need.label for need in kind.draws]
        ranks = [needs.index(label) for label in labels if label in needs]
        if ranks:
            is_main = labels[0] in needs
            ranked.append((min(ranks), not is_main, kind.order, name))
        elif rule in kind.rules:
            ranked.append((len(needs), False, kind.order, name))
    return [name for *_, name in sorted(ranked)]


def key_charts(
    kinds: Sequence[tuple[str, type[Chart]]], illustrations: Iterable[Sequence[str]]
) -> list[str]:
    """The charts to try for the Overview, in order of preference.

    Args:
        kinds: All charts with their names.
        illustrations: The charts of each finding, the most important finding first.
    """
    drawn = {name for name, kind in kinds if kind.draws}
    main = [charts[0] for charts in illustrations if charts and charts[0] in drawn]
    by_key = sorted((kind.key, name) for name, kind in kinds if kind.key)
    return list(dict.fromkeys([*main, *(name for _, name in by_key)]))
