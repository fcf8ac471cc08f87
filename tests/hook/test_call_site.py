"""Names in the script identify the data split of an evaluation."""

import weakref

import pytest

from sonde.hook.call_site import CallSites, Frame, split_named, split_of


def frame(expression: str, function: str = "main", key: int = 0) -> Frame:
    return Frame((key, 0), function, "train.py", 10 + key, expression)


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ([frame("val_loader")], "validation"),
        ([frame("enumerate(tqdm(self.test_dl))")], "test"),
        ([frame("model(Xtr[ix])")], "train"),
        ([frame("model(x_dev)")], "validation"),
        ([frame("loader", "evaluate"), frame("evaluate(model, trainLoader)")], "train"),
        ([frame("loader", "validate"), frame("validate(model, test_loader)")], "test"),
        ([frame("loader", "validate"), frame("validate(model, loaders[1])")], "validation"),
        ([frame("loader", "run_epoch"), frame("run_epoch(train_loader, val_loader)")], None),
        ([frame("loader", "train"), frame("train(model)")], None),
        ([frame("model(inputs)", "interval")], None),
    ],
)
def test_data_split_is_named_by_arguments_before_functions(
    frames: list[Frame], expected: str | None
) -> None:
    match = split_of(frames, set())
    assert (match[0] if match else None) == expected


def test_frames_shared_with_training_are_ignored() -> None:
    frames = [frame("evaluate(model, other)", key=1), frame("train(train_loader)", key=2)]
    assert split_of(frames, {(2, 0)}) is None


def test_common_words_name_a_data_split() -> None:
    assert split_named("val") == "validation"
    assert split_named("epoch") is None


def test_calls_on_one_line_are_distinct_call_sites() -> None:
    sites = CallSites()

    def current() -> tuple[tuple[int, int], ...]:
        return sites.chain()

    first, second = current(), current()
    chains = [current() for _ in range(2)]

    assert first != second
    assert chains[0] == chains[1]


def test_call_site_of_a_loop_over_splits_keeps_no_value_alive() -> None:
    class Value:
        pass

    sites, references = CallSites(), []

    def estimate() -> list[object]:
        chains = []
        for split in ("train", "val"):
            value = Value()
            references.append(weakref.ref(value))
            chains.append((split, sites.chain()))
            del value
            assert references[-1]() is None
        return [chain for _, chain in chains]

    first, second = estimate()
    assert first != second


def test_call_site_ends_at_the_module_that_runs_the_loop() -> None:
    """A notebook cell has dozens of kernel frames below it, which are not searched."""
    sites = CallSites()
    outer = {"sites": sites}
    exec(compile("chain = sites.chain()\nframes = sites.describe(chain)", "cell.py", "exec"), outer)

    assert len(outer["chain"]) == 1  # type: ignore[arg-type]
    assert [frame.function for frame in outer["frames"]] == ["<module>"]  # type: ignore[attr-defined]


def test_two_calls_of_one_function_are_distinct_call_sites() -> None:
    sites = CallSites()

    def evaluate(_split: str) -> tuple[tuple[int, int], ...]:
        return sites.chain()

    chains = [evaluate("train"), evaluate("val")]
    described = [frame.expression for frame in sites.describe(chains[0])]

    assert chains[0] != chains[1]
    assert len(chains[0]) == len(chains[1])
    assert len(described) <= len(chains[0])


def test_later_loop_over_results_does_not_change_the_call_site() -> None:
    """Its variable still holds the name of the last split when the next evaluation begins."""
    sites, described = CallSites(), {}
    training: set[tuple[int, int]] = set()

    def evaluate() -> None:
        for _split in ("train", "val"):
            chain = sites.chain()
            described[chain] = sites.describe(chain)

    def train() -> None:
        training.update(sites.chain())

    source = """
for epoch in range(2):
    evaluate()
    for name, loss in {"train": 1.0, "val": 2.0}.items():
        pass
    train()
"""
    exec(compile(source, "script.py", "exec"), {"evaluate": evaluate, "train": train})

    matches = [split_of(frames, training) for frames in described.values()]
    assert [match[0] if match else None for match in matches] == ["train", "validation"]


def test_loop_over_pairs_of_name_and_loader_names_the_split() -> None:
    sites, chains = CallSites(), []

    def evaluate() -> None:
        for _number, (_name, _loader) in enumerate({"train": [1], "val": [2]}.items()):
            chain = sites.chain()
            chains.append([frame.expression for frame in sites.describe(chain)][:1])

    evaluate()
    assert chains == [["train"], ["val"]]
