"""`sonde report`: write the report of a job."""

import argparse
import contextlib
import resource
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

from sonde.agent.reporting import RUNS_ELSEWHERE
from sonde.cli._arrow import keep_pandas_out
from sonde.cli._command import Command, Options, add_job, add_json, print_json, print_line
from sonde.cli._spools import send_spools_of
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.clock import SystemClock, process_cpu_seconds
from sonde.drawing.page import on_paper
from sonde.errors import SondeError, UsageError
from sonde.formats import format_bytes
from sonde.read.jobs import read_job
from sonde.report.build import Report, chart_count
from sonde.report.storage import store_report, write_report
from sonde.results.job_summary import read_summary
from sonde.store.backends import Backend
from sonde.store.layout import REPORT_FOLDER
from sonde.store.places import find_job
from sonde.store.report_cost import keep_report_cost
from sonde.store.report_writing import is_report_written_now, unmark_report
from sonde.terminal.progress_bar import progress_bar

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--no-pdf-header-footer",
)
_PAPERS = ("A4", "Letter")
_PRINT_SECONDS = 120
_WRITER_SECONDS = 30.0  # for a report that another process writes
_POLL_SECONDS = 0.05
_REFRESH_SECONDS = 60  # CPU time limit, enforced by the system


class WriteReport(Command):
    """Write the report of a running or finished job as a self-contained HTML page and as JSON.

    By default, writes report/report.html and report/report.json into the job's folder. With
    --output, the JSON file is written next to the page.
    """

    example = "sonde report resnet -o resnet.html --pdf"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            *("-o", "--output"),
            metavar="FILE",
            type=Path,
            help="output file (default: report/report.html in the job's folder)",
        )
        parser.add_argument(
            "--pdf", action="store_true", help="also write a PDF (requires Chromium or Chrome)"
        )
        parser.add_argument(
            "--paper",
            choices=_PAPERS,
            default=_PAPERS[0],
            help="paper size of the PDF (default: A4)",
        )
        # used by `sonde run` at the end of a job, and by its rules process while the job runs:
        # both report the recorded findings without running rules
        parser.add_argument("--at-end", action="store_true", help=argparse.SUPPRESS)
        parser.add_argument("--refresh", action="store_true", help=argparse.SUPPRESS)
        add_json(parser)

    def execute(self, options: Options) -> int:
        keep_pandas_out()
        backend = find_job(options.job, options.store)
        if not options.at_end and not options.refresh:
            send_spools_of(backend)
        job = Job(backend)
        if options.at_end:
            try:
                return _at_end(job, backend)
            finally:
                unmark_report(backend)
        if options.refresh:
            return _refresh(job, backend)
        _wait_for_writer(backend)
        browser = _browser() if options.pdf else None
        with progress_bar("Writing report", chart_count()) as advance:
            report = report_of(backend, advance=advance, runs_rules=True)
        written = _write(report, backend, options.output)
        if browser is not None:
            page = on_paper(report.html, options.paper)
            written["pdf"] = _print_pdf(browser, page, _pdf_path(written["html"], job.name))
        if options.json:
            print_json({"job": job.name, **written, "bytes": len(report.html.encode())})
        else:
            print_line(f"{written['html']} ({format_bytes(len(report.html.encode()))})")
            if "pdf" in written:
                print_line(written["pdf"])
        return 0


def _wait_for_writer(backend: Backend) -> None:
    """Wait for a report that is being written; remove what an interrupted one has left."""
    clock, never = SystemClock(), threading.Event()
    due = clock.seconds() + _WRITER_SECONDS
    while (is_written_now := is_report_written_now(backend)) and clock.seconds() < due:
        clock.wait(never, _POLL_SECONDS)
    if is_written_now is None:
        unmark_report(backend)
        backend.sweep_of(REPORT_FOLDER, lambda pid: not Path(f"/proc/{pid}").exists())


def _at_end(job: Job, backend: Backend) -> int:
    is_ours = job.state.is_over  # otherwise the last node to finish writes it
    if is_ours:
        store_report(report_of(backend), backend)
        read_summary(backend, SystemClock().now_ns(), is_complete=True)
    clock = SystemClock()
    cpu_seconds = read_job(backend, clock.now_ns()).report_seconds
    keep_report_cost(backend, clock, cpu_seconds + process_cpu_seconds())
    return 0 if is_ours else RUNS_ELSEWHERE


def _refresh(job: Job, backend: Backend) -> int:
    _lower_priority()
    report = report_of(backend)
    if not read_job(
        backend, SystemClock().now_ns()
    ).state.is_over:  # a finished job writes its final report itself
        store_report(report, backend)
    return 0


def _lower_priority() -> None:
    """Yield to the training job: be killed first if memory runs out, and limit CPU time."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CPU, (_REFRESH_SECONDS, _REFRESH_SECONDS))


def _write(report: Report, backend: Backend, output: Path | None) -> dict[str, str]:
    if output is None:
        page = store_report(report, backend)
        return {"html": page, "json": f"{page.removesuffix('.html')}.json"}
    if output.suffix == ".json":
        raise UsageError(
            f"{output} is a JSON file name. Specify an HTML file, such as report.html."
        )
    return {"html": str(output), "json": str(write_report(report, output))}


def _browser() -> str:
    browser = next((path for path in map(shutil.which, _BROWSERS) if path), None)
    if browser is None:
        raise SondeError("--pdf requires Chromium or Chrome. Neither is installed.")
    return browser


def _pdf_path(page: str, job: str) -> Path:
    """Next to the page; in the current folder if the page is in an object store."""
    path = Path(page.removeprefix("file://"))
    return Path(f"{job}.pdf") if "://" in str(path) else path.with_suffix(".pdf")


def _print_pdf(browser: str, html: str, path: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="sonde-report-") as folder:
        page = Path(folder) / "report.html"
        page.write_text(html, encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        target = path.resolve()
        words = [browser, *_FLAGS, profile, f"--print-to-pdf={target}", page.as_uri()]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=_PRINT_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise SondeError(f"Cannot print the report with {browser}: {error}") from error
    return str(path)
