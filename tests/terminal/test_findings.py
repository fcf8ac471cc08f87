"""The output of `sonde findings` on a terminal of 80 columns."""

from sonde.records.finding import Episode, Finding, Severity
from sonde.results.findings import Findings
from sonde.terminal.findings import finding_lines
from sonde.terminal.output import readable, wrapped


def test_findings_wrap_between_words_and_name_their_tensor() -> None:
    words = " ".join(f"word-{number}" for number in range(40))
    finding = Finding("DeadRelu", Severity.WARNING, words, words, tensor="relu_output_0")
    findings = Findings((Episode("1", finding, 0, 1, 1),))
    lines = [
        piece.plain for line in finding_lines(findings) for piece in wrapped(readable(line), 80)
    ]
    assert "(relu_output_0; ongoing)" in lines[0]
    assert max(map(len, lines)) <= 80
    shown = " ".join(lines).split()
    assert [word for word in shown if word.startswith("word-")] == words.split() * 2
    assert all(line.startswith("  ") for line in lines[1:])
