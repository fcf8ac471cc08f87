"""Run all probes within a time limit and save the counts: `python -m tests.torture`."""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.report import RESULTS, describe_environment
from tests.torture.harness import Counts, find_probes, run_all

_MINUTES = 15.0


def main(words: Sequence[str] | None = None) -> int:
    """Run the probes; return 1 if any of them found a problem."""
    probes = find_probes()
    options = _options(words, [probe.name for probe in probes])
    seed = random.SystemRandom().randrange(1 << 32) if options.seed is None else options.seed
    _print(f"seed {seed}")
    requested = [probe for probe in probes if probe.name in (options.names or [probe.name])]
    results = []
    for counts in run_all(requested, seed, 60 * options.minutes):
        results.append(counts)
        _print(_line(counts))
        for problem in counts.problems:
            _print(f"  {problem}")
    if not options.no_save and not options.names:
        save(results, seed, RESULTS / "torture.json")
    return int(any(counts.problems for counts in results))


def save(results: Sequence[Counts], seed: int, path: Path) -> None:
    """Write the counts of all probes and their totals to a file."""
    totals = {
        "cases": sum(counts.cases for counts in results),
        "crashes": sum(len(counts.crashes) for counts in results),
        "silent_losses": sum(len(counts.silent_losses) for counts in results),
        "untrue_states": sum(len(counts.untrue_states) for counts in results),
        "seconds": round(sum(counts.seconds for counts in results), 1),
    }
    document = {
        "benchmark": "torture",
        **describe_environment(),
        "seed": seed,
        **totals,
        "probes": [{**asdict(counts), "seconds": round(counts.seconds, 1)} for counts in results],
    }
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _line(counts: Counts) -> str:
    return (
        f"{counts.probe}: {counts.cases} cases in {counts.seconds:.0f} s, "
        f"{len(counts.crashes)} crashes, {len(counts.silent_losses)} silent losses, "
        f"{len(counts.untrue_states)} untrue states"
    )


def _options(words: Sequence[str] | None, names: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROBE", help=f"only these: {', '.join(names)}")
    parser.add_argument("--minutes", type=float, default=_MINUTES, help="in total (default: 15)")
    parser.add_argument("--seed", type=int, help="to repeat a run (default: a random one)")
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    options = parser.parse_args(words)
    unknown = sorted(set(options.names) - set(names))
    if unknown:
        parser.error(f"no probe is called {unknown[0]}. Known: {', '.join(names)}")
    return options


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
