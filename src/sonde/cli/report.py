"""`sonde report`: a job on one page."""

import argparse
import contextlib
import resource
import shutil
import subprocess
import tempfile
from pathlib import Path

from sonde.agent.reporting import RUNS_ELSEWHERE
from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.cli._spools import send_spools_of
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.clock import SystemClock, process_cpu_seconds
from sonde.drawing.page import on_paper
from sonde.errors import SondeError, UsageError
from sonde.formats import format_bytes
from sonde.read.jobs import read_job
from sonde.report.build import Report, chart_count
from sonde.report.storage import keep_report, write_report
from sonde.store.backends import Backend
from sonde.store.places import find_job
from sonde.store.report_cost import keep_report_cost
from sonde.terminal.progress_bar import progress_bar

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--no-pdf-header-footer",
)
_PAPERS = ("A4", "Letter")
_PRINT_SECONDS = 120
_REFRESH_SECONDS = 60  # of CPU time, after which the system ends it


class WriteReport(Command):
    """Write the report of a job: one page that stands alone, and the same as JSON.

    Of a job that runs or is over. It goes into the job's folder, as report/report.html, unless a
    file is named; report.json is beside it.
    """

    example = "sonde report resnet -o resnet.html --pdf"

    def configure(self, parser: argparse.ArgumentParser) -> None:
        add_job(parser)
        parser.add_argument(
            *("-o", "--output"), metavar="FILE", type=Path, help="where to (default: the job)"
        )
        parser.add_argument(
            "--pdf", action="store_true", help="a PDF beside it, printed by an installed Chromium"
        )
        parser.add_argument(
            "--paper", choices=_PAPERS, default=_PAPERS[0], help="of the PDF (default: A4)"
        )
        # how `sonde run` and its watcher ask for it: what rules have said so far; of a whole job,
        # or of one that runs
        parser.add_argument("--at-end", action="store_true", help=argparse.SUPPRESS)
        parser.add_argument("--refresh", action="store_true", help=argparse.SUPPRESS)
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        if not options.at_end and not options.refresh:
            send_spools_of(backend)
        job = Job(backend)
        if options.at_end:
            return _at_end(job, backend)
        if options.refresh:
            return _refresh(job, backend)
        browser = _browser() if options.pdf else None
        with progress_bar("writing the report", chart_count()) as advance:
            report = report_of(backend, advance=advance, runs_rules=True)
        written = _written(report, backend, options.output)
        if browser is not None:
            page = on_paper(report.html, options.paper)
            written["pdf"] = _printed(browser, page, _pdf_place(written["html"], job.name))
        if options.json:
            say_json({"job": job.name, **written, "bytes": len(report.html.encode())})
        else:
            say(f"{written['html']} ({format_bytes(len(report.html.encode()))})")
            if "pdf" in written:
                say(written["pdf"])
        return 0


def _at_end(job: Job, backend: Backend) -> int:
    is_ours = job.state.is_over  # else another node still runs: it will write it
    if is_ours:
        keep_report(report_of(backend), backend)
    clock = SystemClock()
    spent = read_job(backend, clock.now_ns()).report_seconds
    keep_report_cost(backend, clock, spent + process_cpu_seconds())
    return 0 if is_ours else RUNS_ELSEWHERE


def _refresh(job: Job, backend: Backend) -> int:
    _step_back()
    report = report_of(backend)
    if not read_job(backend, SystemClock().now_ns()).state.is_over:  # the end writes its own
        keep_report(report, backend)
    return 0


def _step_back() -> None:
    """Beside a training that needs the machine, we are ended first where memory is short."""
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    resource.setrlimit(resource.RLIMIT_CPU, (_REFRESH_SECONDS, _REFRESH_SECONDS))


def _written(report: Report, backend: Backend, output: Path | None) -> dict[str, str]:
    if output is None:
        page = keep_report(report, backend)
        return {"html": page, "json": f"{page.removesuffix('.html')}.json"}
    if output.suffix == ".json":
        raise UsageError(f"{output} is where the data would go. Name the page, like report.html.")
    return {"html": str(output), "json": str(write_report(report, output))}


def _browser() -> str:
    found = next((one for one in map(shutil.which, _BROWSERS) if one), None)
    if found is None:
        raise SondeError("--pdf needs Chromium or Chrome, and none is installed.")
    return found


def _pdf_place(page: str, job: str) -> Path:
    """Beside the page; of one that lies in an object store, here."""
    place = Path(page.removeprefix("file://"))
    return Path(f"{job}.pdf") if "://" in str(place) else place.with_suffix(".pdf")


def _printed(browser: str, html: str, place: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="sonde-report-") as folder:
        page = Path(folder) / "report.html"
        page.write_text(html, encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        target = place.resolve()
        words = [browser, *_FLAGS, profile, f"--print-to-pdf={target}", page.as_uri()]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=_PRINT_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise SondeError(f"{browser} did not print the report: {error}") from error
    return str(place)
