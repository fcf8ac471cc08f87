"""The words for what data loaders do."""

from enum import StrEnum


class Operation(StrEnum):
    """What is done, as the rows of a loader's profile are called."""

    START = "iterator start"  # with the start of its processes
    BATCH = "batch"  # the making of one, in whichever process
    ITEMS = "items"  # of a batch: what the data set gave
    COLLATION = "collation"
    WAIT = "next batch"  # the process that trains asks for one
    PINNING = "pinning"
