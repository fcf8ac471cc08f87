"""What a subject is: some addresses, and a function that answers each."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sonde.web.query_params import Question
from sonde.web.replies import Reply


@dataclass(frozen=True, slots=True)
class Address:
    """One path below `/api`, such as `/jobs/{job}/series`, and who answers there.

    The function runs in a thread and may take its time; our own errors become a sentence and a
    status, by their kind.
    """

    path: str
    answer: Callable[[Question], Reply]
    method: str = "GET"
    is_kept: bool = True  # of a job that is over, the answer is kept and given again


class Answers(ABC):
    """One subject. A new one is a new file here: the server finds it by itself."""

    @abstractmethod
    def addresses(self) -> Sequence[Address]:
        """Where it answers."""
