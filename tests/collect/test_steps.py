from sonde.collect.steps import EventRow, FinishedStep, Steps
from tests.fakes.clock import FakeClock


def test_a_pause_belongs_to_no_step() -> None:
    clock = FakeClock()
    rows: list[EventRow] = []
    finished: list[FinishedStep] = []
    steps = Steps(clock.now_ns, rows.append, finished.append)

    def step() -> None:
        began_ns = clock.now_ns()
        clock.advance(0.25)
        steps.backward(began_ns)
        steps.optimizer_begins(0)
        steps.optimizer_ends(0, clock.now_ns())

    step()
    step()
    steps.close()
    clock.advance(100)
    step()
    steps.close()

    assert [one.end_ns - one.start_ns for one in finished] == [250_000_000] * 3
