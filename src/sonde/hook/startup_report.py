"""What a process reports before Sonde is loaded, or if it cannot be loaded.

The startup module compiles it from text. It imports only modules that are part of the interpreter.
"""

import os


def write_marker(name: str, content: bytes = b"") -> None:
    """Write a file into the folder of this attempt, if the job is on a local disk.

    Links inside the job's folder are not followed: they may lead to files of the user.
    """
    job = os.environ.get("SONDE_WORKER_URI") or os.environ.get("SONDE_JOB_URI") or ""
    job = job[7:] if job.startswith("file://") else job
    node, number = os.environ.get("SONDE_NODE"), os.environ.get("SONDE_ATTEMPT", "1")
    if not job or not node or "://" in job or not number.isdigit():
        return
    os.makedirs(job, exist_ok=True)
    folder = os.open(job, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for inner in ("nodes", node, f"attempt-{int(number):03d}", "frameworks"):
            _make_folder(inner, folder)
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            outer, folder = folder, os.open(inner, flags, dir_fd=folder)
            os.close(outer)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(name, flags, 0o666, dir_fd=folder)
        try:
            os.write(file, content)
        finally:
            os.close(file)
    finally:
        os.close(folder)


def _make_folder(name: str, parent: int) -> None:
    try:
        os.mkdir(name, dir_fd=parent)
    except FileExistsError:
        return


def record_failure(reason: str) -> None:
    """Write a file with the reason why training in this process is not recorded.

    Its name contains a checksum of the content, so each reason is written once and readers can
    detect damage. If the process cannot write, it sends the reason to the launcher.
    """
    try:
        from zlib import crc32

        content = reason[:500].encode("utf-8", "replace")
        write_marker(f"unrecorded-{crc32(content):08x}", content)
    except (ImportError, OSError, ValueError):  # no permission, a full disk, a link, or no zlib
        _send_failure(reason[:500])


def _send_failure(reason: str) -> None:
    """Send the message of `sonde.records.loss_report`, which may be unreadable here."""
    run_id = os.environ.get("SONDE_RUN_ID")
    if not run_id:
        return
    try:
        from _json import encode_basestring_ascii as quote  # the script may have its own `json`
        from _socket import AF_UNIX, SOCK_DGRAM, socket

        texts = [quote("hook-not-loaded"), quote("the inside of the job"), quote(reason)]
        message = "[" + ", ".join([*texts, "0", "0", "false"]) + "]"
        sender = socket(AF_UNIX, SOCK_DGRAM)
        try:
            sender.settimeout(1.0)
            sender.sendto(message.encode(), b"\0sonde-losses-" + run_id.encode())
        finally:
            sender.close()
    except (ImportError, OSError, ValueError):  # no launcher, or another network namespace
        return
