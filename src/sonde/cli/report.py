"""`sonde report`: a job on one page."""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

from sonde.cli._bar import progress_bar
from sonde.cli._command import Command, Options, add_job, add_json, say, say_json
from sonde.client.job import Job
from sonde.client.reports import report_of
from sonde.errors import SondeError, UsageError
from sonde.show.report.build import Report, chart_count
from sonde.show.report.kept import keep_report, write_report
from sonde.show.units import size
from sonde.store.backends import Backend
from sonde.store.places import find_job

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--no-pdf-header-footer",
)
_PRINT_SECONDS = 120
_RUNS_ELSEWHERE = 1


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
        # how `sonde run` asks for it: what rules have said so far, and only of a whole job
        parser.add_argument("--at-end", action="store_true", help=argparse.SUPPRESS)
        add_json(parser)

    def execute(self, options: Options) -> int:
        backend = find_job(options.job, options.store)
        job = Job(backend)
        if options.at_end:
            return _at_end(job, backend)
        browser = _browser() if options.pdf else None
        with progress_bar("writing the report", chart_count()) as advance:
            report = report_of(job, advance=advance)
        written = _written(report, backend, options.output)
        if browser is not None:
            written["pdf"] = _printed(browser, report, _pdf_place(written["html"], job.name))
        if options.json:
            say_json({"job": job.name, **written, "bytes": len(report.html.encode())})
        else:
            say(f"{written['html']} ({size(len(report.html.encode()))})")
            if "pdf" in written:
                say(written["pdf"])
        return 0


def _at_end(job: Job, backend: Backend) -> int:
    if not job.state.is_over:  # another node still runs: it will write it
        return _RUNS_ELSEWHERE
    keep_report(report_of(job, backend), backend)
    return 0


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


def _printed(browser: str, report: Report, place: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="sonde-report-") as folder:
        page = Path(folder) / "report.html"
        page.write_text(report.html, encoding="utf-8")
        profile = f"--user-data-dir={folder}/profile"
        target = place.resolve()
        words = [browser, *_FLAGS, profile, f"--print-to-pdf={target}", page.as_uri()]
        try:
            subprocess.run(words, check=True, capture_output=True, timeout=_PRINT_SECONDS)
        except (OSError, subprocess.SubprocessError) as error:
            raise SondeError(f"{browser} did not print the report: {error}") from error
    return str(place)
