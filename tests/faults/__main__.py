"""Train all programs, run all rules and print scores: `python -m tests.faults`."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from functools import partial
from time import monotonic

from benchmarks.report import describe_environment, save, table
from tests.faults.catalog import PROGRAMS
from tests.faults.judging import Outcome, judge
from tests.faults.program import Purpose, Variant
from tests.faults.recordings import Run
from tests.faults.scores import (
    Scores,
    alarm_table,
    confusion_table,
    fault_table,
    score_rows,
)

NOTHING_HELD_OUT = (
    "No program is held out: the last held-out set has been judged and is used for calibration "
    "now. To measure on programs that no rule author has seen, have someone write new ones with "
    '"set": "held out" in their labels.'
)


def main() -> int:
    """Run the selected programs; return 1 if a target is missed, 2 if none is selected."""
    options = _options()
    purposes = options.part or _default_purposes(options)
    if Purpose.HELD_OUT.value in purposes and not _is_any_held_out():
        report(NOTHING_HELD_OUT)
    runs = [
        Run(program, variant, seed)
        for seed in range(options.seeds)
        for program in PROGRAMS
        for variant in program.variants
        if any(fnmatch(program.name, pattern) for pattern in options.names or ["*"])
        if program.purpose.value in purposes
        if options.variant in (None, variant.value)
    ]
    if not runs:
        report("No program is selected.")
        return 2
    outcomes = _judged(runs, options)
    rows = score_rows(outcomes)
    tables = [fault_table(outcomes), alarm_table(outcomes)]
    if not options.names:
        tables.append(confusion_table(outcomes))
    report("\n\n".join([*tables, table(rows)]))
    if not options.no_save and not options.names:
        path = save("faults", rows, describe_environment())
        document = {**json.loads(path.read_text()), "runs": Scores(outcomes).documents()}
        path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")
    return int(any(row.is_met is False for row in rows))


def report(text: str) -> None:
    """Print without buffering."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="PROGRAM", help="only these; may contain *")
    parser.add_argument("--seeds", type=int, default=5, help="runs of each program (default: 5)")
    parser.add_argument("--minutes", type=float, help="start no new run after this time")
    parser.add_argument(
        "--part",
        choices=[purpose.value for purpose in Purpose],
        nargs="+",
        help="only these (default: calibration and held out; any for programs given by name)",
    )
    parser.add_argument(
        "--variant", choices=[variant.value for variant in Variant], help="only this variant"
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="runs in parallel")
    parser.add_argument(
        "--old", action="store_true", help="reuse recordings made before the recorder changed"
    )
    parser.add_argument("--no-save", action="store_true", help="do not write benchmarks/results")
    return parser.parse_args()


def _default_purposes(options: argparse.Namespace) -> list[str]:
    """Return all purposes for named programs; otherwise skip earlier sets, which take hours."""
    if options.names:
        return [purpose.value for purpose in Purpose]
    return [Purpose.CALIBRATION.value, Purpose.HELD_OUT.value]


def _is_any_held_out() -> bool:
    return any(program.purpose is Purpose.HELD_OUT for program in PROGRAMS)


def _judged(runs: Sequence[Run], options: argparse.Namespace) -> list[Outcome]:
    outcomes: dict[int, Outcome] = {}
    start = monotonic()
    with ProcessPoolExecutor(options.jobs) as pool:
        work = partial(judge, accept_stale=options.old)
        futures = {pool.submit(work, run): number for number, run in enumerate(runs)}
        for future in as_completed(futures):
            if future.cancelled():
                continue
            number = futures[future]
            outcomes[number] = future.result()
            sys.stderr.write(f"{len(outcomes)}/{len(runs)} {runs[number]}\n")
            if options.minutes is not None and monotonic() - start > 60 * options.minutes:
                for pending in futures:
                    pending.cancel()
    return [outcomes[number] for number in sorted(outcomes)]


if __name__ == "__main__":
    sys.exit(main())
