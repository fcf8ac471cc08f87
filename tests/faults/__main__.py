"""Trains all programs, asks all rules, prints how well they tell: `python -m tests.faults`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from functools import partial
from time import monotonic

from benchmarks.report import circumstances, save, table
from tests.faults.catalogue import PROGRAMS
from tests.faults.judging import Outcome, judge
from tests.faults.program import Part, Variant
from tests.faults.recordings import Run
from tests.faults.scores import (
    Scores,
    alarm_table,
    confusion_table,
    fault_table,
    score_rows,
)


def main() -> int:
    """Runs what was asked for; 1 when a promise is not kept."""
    options = _options()
    runs = [
        Run(program, variant, seed)
        for seed in range(options.seeds)
        for program in PROGRAMS
        for variant in program.variants
        if any(fnmatch(program.name, pattern) for pattern in options.names or ["*"])
        if program.part.value in (options.part or _parts(options))
        if options.variant in (None, variant.value)
    ]
    outcomes = _judged(runs, options)
    rows = score_rows(outcomes)
    parts = [fault_table(outcomes), alarm_table(outcomes)]
    if not options.names:
        parts.append(confusion_table(outcomes))
    say("\n\n".join([*parts, table(rows)]))
    if not options.no_save and not options.names:
        path = save("faults", rows, circumstances())
        document = {**json.loads(path.read_text()), "runs": Scores(outcomes).documents()}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return int(any(row.is_met is False for row in rows))


def say(text: str) -> None:
    """Prints, also into a file that somebody is looking at."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="only these; * fits anything")
    parser.add_argument("--seeds", type=int, default=5, help="how often each (default: 5)")
    parser.add_argument("--minutes", type=float, help="begin nothing new after so long")
    parser.add_argument(
        "--part",
        choices=[one.value for one in Part],
        nargs="+",
        help="only these (default: the two halves; of programs that are named, any)",
    )
    parser.add_argument("--variant", choices=[one.value for one in Variant], help="only these")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at the same time")
    parser.add_argument(
        "--old", action="store_true", help="take recordings made before the recorder changed"
    )
    parser.add_argument("--no-save", action="store_true", help="leave benchmarks/results alone")
    return parser.parse_args()


def _parts(options: argparse.Namespace) -> list[str]:
    """The two halves: the older programs, with five seeds, would take hours more."""
    halves = [Part.CALIBRATION.value, Part.HELD_OUT.value]
    return [one.value for one in Part] if options.names else halves


def _judged(runs: Sequence[Run], options: argparse.Namespace) -> list[Outcome]:
    found: dict[int, Outcome] = {}
    began = monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        work = partial(judge, may_be_old=options.old)
        going = {pool.submit(work, run): number for number, run in enumerate(runs)}
        for done in as_completed(going):
            if done.cancelled():
                continue
            number = going[done]
            found[number] = done.result()
            sys.stderr.write(f"{len(found)}/{len(runs)} {runs[number]}\n")
            if options.minutes is not None and monotonic() - began > 60 * options.minutes:
                for other in going:
                    other.cancel()
    return [found[number] for number in sorted(found)]


if __name__ == "__main__":
    sys.exit(main())
