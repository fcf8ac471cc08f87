"""Generate the reference pages from the code: `make docs`.

A test fails when a page differs from what this would write.
"""

import argparse
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import sonde
from sonde.actions import ACTIONS
from sonde.agent.system import COLLECTORS
from sonde.charts import CHARTS
from sonde.cli import COMMANDS
from sonde.client.summary import Summary
from sonde.hook.torch.checks import check_classes
from sonde.read.curves import Curve
from sonde.read.window import Samples, Window, WindowTensor
from sonde.records.observation import ObservationKind
from sonde.records.tensor import BUILT_IN_COLLECTIONS
from sonde.results.clocks import Clocks
from sonde.results.collectives import Collectives
from sonde.results.comparison import JobComparison, JobScalars
from sonde.results.distributions import Distribution
from sonde.results.events import Events, Stages
from sonde.results.facts import Lives
from sonde.results.findings import Findings, Judgement
from sonde.results.heat import Buckets, Heat
from sonde.results.idle import Breakdowns, Gaps
from sonde.results.layers import Layers
from sonde.results.loading import LoaderFunctions, Loaders, LoaderStarts
from sonde.results.news import News
from sonde.results.observations import Observations
from sonde.results.operators import OperatorRows, Operators
from sonde.results.outliers import OutlierMetrics, StepOutliers
from sonde.results.plots import Plot
from sonde.results.python_profile import Comparison, HotTable, PythonTime
from sonde.results.python_views import CallTree, PythonPhases, PythonWindows
from sonde.results.record_rows import RecordRows
from sonde.results.scalars import ReducedScalars, Scalars
from sonde.results.selection import Selection
from sonde.results.series import Histogram, Histograms, Quantiles, Reduction
from sonde.results.steps import PhaseStatistics, StepRows, Steps
from sonde.results.system import Statistics, SystemMetrics
from sonde.results.tensors import Tensor, Tensors
from sonde.results.timeline import Timeline, TimelineWindow
from sonde.rules import Rule, load_rule, rule_names
from sonde.rules._parameters import describe_parameters
from sonde.rules._rule import Section, State
from sonde.settings import (
    ACTIONS_KEYS,
    COLLECTION_KEYS,
    KEYS,
    OPTION_KEYS,
    RULES_KEYS,
    VARIABLES,
    WINDOW_KEYS,
    Key,
)
from sonde.store.format import FAMILIES, FORMAT_VERSION, OBSERVATIONS

REFERENCE = Path(__file__).parent / "reference"
_NOTE = "<!-- Written by `make docs`; change the code, not this page. -->"
_TYPES = {"q": "64-bit integer", "d": "64-bit float", "f": "32-bit float", "s": "text"}


def pages() -> dict[Path, str]:
    """Return the text of every generated page."""
    lines_by_page = {
        "actions.md": actions(),
        "charts.md": charts(),
        "commands.md": commands(),
        "configuration.md": configuration(),
        "metrics.md": metrics(),
        "python.md": python(),
        "records.md": records(),
        "rules.md": rules(),
    }
    return {
        REFERENCE / name: "\n".join((_NOTE, *lines)) + "\n" for name, lines in lines_by_page.items()
    }


def charts() -> Iterator[str]:
    """Describe each chart: its question and where it is shown."""
    yield "# Charts"
    yield ""
    yield "There is one file per chart in `src/sonde/charts/`. It converts a job to a chart spec"
    yield "(`records/chart.py`) that the dashboard, [the report](report.md) and notebooks draw."
    yield "`GET /api/jobs/NAME/charts/CHART` returns the spec as JSON. Other packages add charts as"
    yield "entry points in the group `sonde.charts`."
    yield from (
        "",
        "| chart | title | what it answers | Overview page | report |",
        "|---|---|---|---|---|",
    )
    for name in CHARTS.names():
        chart = CHARTS.load(name)
        answer = (inspect.getdoc(chart) or "").partition("\n")[0]
        shown = chart.overview.section.value if chart.overview else "–"
        yield f"| `{name}` | {chart.title} | {answer} | {shown} | {chart.section or '–'} |"


def commands() -> Iterator[str]:
    """One section per command, from its docstring and its options."""
    yield "# Commands"
    yield ""
    yield "`sonde` and `python -m sonde` are equivalent. Exit codes: 0 success, 1 error, 2 usage"
    yield "error. `sonde run` returns the exit code of its command."
    for name in COMMANDS.names():
        command = COMMANDS.load(name)()
        parser = argparse.ArgumentParser(prog=f"sonde {name}", add_help=False)
        command.configure(parser)
        yield from ("", f"## sonde {name}", "", inspect.getdoc(type(command)) or "", "")
        if command.example:
            yield from ("```text", command.example, "```", "")
        yield from _options(parser)


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    yield "| option | meaning |"
    yield "|---|---|"
    for action in parser._actions:  # noqa: SLF001 — argparse has no public list of its options
        if action.help == argparse.SUPPRESS:
            continue
        if action.help == argparse.SUPPRESS:
            continue
        value = action.metavar or ("" if action.nargs == 0 else action.dest.upper())
        label = ", ".join(action.option_strings) or str(action.metavar or action.dest)
        with_value = f"{label} {value}" if action.option_strings and value else label
        yield f"| `{with_value}` | {action.help or ''} |"


def configuration() -> Iterator[str]:
    """List the keys of the configuration file and the environment variables."""
    yield "# Configuration"
    yield ""
    yield "Sonde reads `sonde.toml` from the script's folder or the current folder; `--config`"
    yield "selects another file. Command-line options override it. Unknown keys and invalid values"
    yield "are errors before the job starts."
    yield from ("", "| section | key | default | meaning |", "|---|---|---|---|")
    yield from (f"| `[{key.section}]` {_key(key)}" for key in KEYS)
    yield from (
        "",
        "Keys of a `[[save.collection]]`, and of `--save NAME:KEY=VALUE,…` (there, lists are",
    )
    yield "joined by `+`, and `values` or `histogram` alone means true):"
    yield from ("", "| key | default | meaning |", "|---|---|---|")
    yield from (_key(key) for key in COLLECTION_KEYS)
    yield from ("", "Rules; each rule can have its own table:", "")
    yield from ("| section | key | default | meaning |", "|---|---|---|---|")
    yield from (f"| `[{key.section}]` {_key(key)}" for key in RULES_KEYS)
    yield from ("", "Actions; each has its own table. Settings: [actions](actions.md).", "")
    yield from ("| section | key | default | meaning |", "|---|---|---|---|")
    yield from (f"| `[{key.section}]` {_key(key)}" for key in ACTIONS_KEYS)
    collections = ", ".join(f"`{collection}`" for collection in BUILT_IN_COLLECTIONS)
    yield from ("", f"Built-in collections: {collections}.")
    yield from ("", "Keys of a window in `[profile]`, and of `--profile KIND:KEY=VALUE,…`:")
    yield from ("", "| kind | key | default | meaning |", "|---|---|---|---|")
    yield from (f"| all {_key(key)}" for key in WINDOW_KEYS)
    yield from (f"| `{kind}` {_key(key)}" for kind, key in OPTION_KEYS)
    yield from ("", "| variable | meaning |", "|---|---|")
    for name, text in VARIABLES.items():
        yield f"| `{name}` | {text} |"


def _key(key: Key) -> str:
    default = f"`{key.default}`" if key.default else "none"
    return f"| `{key.name}` | {default} | {key.help} |"


def metrics() -> Iterator[str]:
    """List the metrics of each collector."""
    yield "# System metrics"
    yield ""
    yield "There is one file per collector in `src/sonde/agent/system/`. Collectors that do not"
    yield "work on a machine are skipped; `sonde doctor` shows which and why."
    for name in COLLECTORS.names():
        collector = COLLECTORS.load(name)
        yield from ("", f"## {name}", "", inspect.getdoc(collector) or "", "")
        yield from ("| metric | unit | meaning |", "|---|---|---|")
        for metric in collector.metrics:
            yield f"| `{metric.name}` | {metric.unit or 'count'} | {metric.help} |"


def python() -> Iterator[str]:
    """Describe the public names."""
    yield "# Python"
    for name in sonde.__all__:
        thing = getattr(sonde, name)
        yield from ("", f"## sonde.{name}", "")
        if inspect.isfunction(thing):
            yield from (f"`{name}{inspect.signature(thing)}`", "")
        yield inspect.getdoc(thing) or ""
        if inspect.isclass(thing):
            yield from _members(thing)
    yield from ("", "# Results of `job.system()`")
    yield from _kinds(SystemMetrics, Buckets, Heat, Statistics, Distribution, Plot)
    yield from ("", "# Results of queries about training")
    yield from _kinds(Summary, Lives, Stages, Steps, StepRows, PhaseStatistics)
    yield from _kinds(Events, Scalars, ReducedScalars)
    yield from _kinds(StepOutliers, OutlierMetrics, Selection, Observations)
    yield from _kinds(Tensors, Layers, Tensor, Reduction, Quantiles, Histogram, Histograms)
    yield from ("", "# Results of following and comparing jobs")
    yield from _kinds(News, JobComparison, JobScalars)
    yield from ("", "# Results of queries about profiles")
    yield from _kinds(Operators, OperatorRows, Breakdowns, Gaps, RecordRows)
    yield from _kinds(Loaders, LoaderFunctions, LoaderStarts)
    yield from _kinds(PythonTime, HotTable, Comparison, CallTree, PythonPhases, PythonWindows)
    yield from _kinds(Collectives, Clocks, Timeline, TimelineWindow)
    yield from ("", "# Input and results of rules")
    yield from _kinds(Window, Curve, Samples, WindowTensor, State, Judgement, Findings)


def _kinds(*kinds: type) -> Iterator[str]:
    for kind in kinds:
        yield from ("", f"## {kind.__name__}", "", inspect.getdoc(kind) or "")
        yield from _members(kind)


def _members(kind: type) -> Iterator[str]:
    yield ""
    # its own first, then what it inherits
    names = dict.fromkeys(name for base in kind.__mro__ for name in vars(base))
    for name in names:
        member = inspect.getattr_static(kind, name)
        is_value = isinstance(member, property | cached_property)
        if name.startswith("_") or not (inspect.isfunction(member) or is_value):
            continue
        text = (inspect.getdoc(member) or "").partition("\n")[0]
        call = _call(inspect.signature(member)) if inspect.isfunction(member) else ""
        yield f"- `{name}{call}`: {text}"


def _call(signature: inspect.Signature) -> str:
    """Return a readable type name that does not depend on the version of numpy."""
    text = re.sub(r"^\(self(, )?", "(", str(signature))
    text = re.sub(r"-> '(.*)'$", r"-> \1", text)
    return re.sub(r"numpy\.ndarray\[.*?\]\]", "numpy.ndarray", text)


def records() -> Iterator[str]:
    """List the record families and their columns."""
    yield "# Record families"
    yield ""
    yield f"Format {FORMAT_VERSION}. Sealed segments are Parquet files with these columns;"
    yield "any Parquet reader can open them."
    for family in FAMILIES.values():
        yield from ("", f"## {family.name}", "", family.label.capitalize() + ".", "")
        if family.is_matrix:
            yield "One column per series (`metric/device`, 32-bit float) and `time_ns`."
            continue
        yield from ("| column | type |", "|---|---|")
        for column, code in family.columns:
            yield f"| `{column}` | {_TYPES[code]} |"
        if family is OBSERVATIONS:
            yield from _observation_kinds()


def _observation_kinds() -> Iterator[str]:
    """List all kinds of observations with their state checks."""
    checks = check_classes()
    declared = {str(kind): kind for check in checks for kind in check.observes}
    kinds = {str(kind): kind for kind in ObservationKind} | declared
    yield from ("", "| kind | meaning | state check |", "|---|---|---|")
    for name, kind in kinds.items():
        names = [check.name for check in checks if kind in check.observes]
        yield f"| `{name}` | {kind.meaning} | {', '.join(names)} |"


def actions() -> Iterator[str]:
    """One section per action, from its file."""
    yield "# Actions"
    yield ""
    yield "There is one file per action in `src/sonde/actions/`. For examples, see"
    yield "[Act on findings](../how-to/act-on-findings.md)."
    for name in ACTIONS.names():
        kind = ACTIONS.load(name)
        yield from ("", f"## {name}", "", kind.summary(), "")
        yield from (
            f"Needs: {', '.join(f'`{key_name}`' for key_name in kind.required) or 'nothing'}.",
            "",
        )
        yield from ("| key | default | meaning |", "|---|---|---|")
        yield from (_key(key) for key in kind.all_keys())


def rules() -> Iterator[str]:
    """One section per rule, from its file."""
    yield "# Rules"
    yield ""
    yield "There is one file per rule in `src/sonde/rules/`. For how rules run, see"
    yield "[Rules](../concepts/rules.md)."
    kinds = sorted((load_rule(name) for name in rule_names()), key=lambda kind: kind.name())
    for section in Section:
        chosen = [kind for kind in kinds if kind.section is section]
        yield from ("", f"## {section}") if chosen else ()
        for kind in chosen:
            yield from _rule(kind)


def _rule(kind: type[Rule]) -> Iterator[str]:
    pages = kind.pages()
    yield from ("", f"### {kind.name()}", "", pages.question, "")
    yield from (f"**Why it matters:** {pages.why}", "")
    yield from ("**How it decides:**", "", *(f"- {line}" for line in pages.conditions), "")
    yield from (f"**What to do:** {pages.advice}", "")
    yield from (f"Needs: {', '.join(need.label for need in kind.needs)}.", "")
    yield from ("| parameter | default | allowed |", "|---|---|---|")
    for page in describe_parameters(kind):
        classic = "" if page.classic == page.default else f", classic: `{page.classic}`"
        yield f"| `{page.name}` | `{page.default}`{classic} | {page.allowed} |"


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text)
