"""Run benchmarks, print their results and save them: `python -m benchmarks [NAME …]`."""

import argparse
import sys

from benchmarks.isolation import run_in_new_process
from benchmarks.report import Row, describe_environment, save, table, write_page

NAMES = (
    *("startup", "beside", "sampler", "writer", "follow", "sealed_size", "reader"),
    *(
        "client_series",
        "hook_overhead",
        "small_steps",
        "smdebug_comparison",
        "trace_decoding",
        "rules_cost",
    ),
    *("advice_cpu", "report_speed", "ui"),
)


def main() -> int:
    """Run the selected benchmarks; return 1 if a target is not met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help=f"benchmarks to run (default: all): {', '.join(NAMES)}",
    )
    parser.add_argument("--no-save", action="store_true", help="do not save to benchmarks/results")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(NAMES))
    if unknown:
        parser.error(f"unknown benchmark {', '.join(unknown)}; available: {', '.join(NAMES)}")
    all_rows: list[Row] = []
    for name in options.names or NAMES:
        print(f"{name} …", file=sys.stderr, flush=True)
        facts = describe_environment()
        rows = run_in_new_process(name)
        all_rows += rows
        if not options.no_save:
            save(name, rows, facts)
    if not options.no_save:
        write_page()
    load = ", ".join(f"{value:g}" for value in describe_environment()["load_average"])
    print(f"\n{table(all_rows)}\n\nLoad average at the end: {load}")
    return int(any(row.is_met is False for row in all_rows))


if __name__ == "__main__":
    sys.exit(main())
