"""Trials of folders that smdebug itself has written, and of jobs without a hook."""

from pathlib import Path

import pytest

from smdebug import modes
from smdebug.exceptions import TensorUnavailableForStep
from smdebug.trials import Trial, create_trial
from tests.fakes.recordings import imported
from tests.fakes.smdebug import unpack_golden


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    folder = unpack_golden(tmp_path_factory.mktemp("old"))
    return create_trial(str(folder / "debug-output"))


def test_a_folder_of_smdebug_opens_as_a_trial(trial: Trial) -> None:
    assert trial.loaded_all_steps
    assert trial.workers() == ["worker_0"]
    assert trial.modes() == [modes.TRAIN, modes.EVAL]
    assert trial.tensor_names(collection="gradients") == [
        *("gradient/Net_fc1.bias", "gradient/Net_fc1.weight"),
        *("gradient/Net_fc2.bias", "gradient/Net_fc2.weight"),
    ]
    gradient = trial.tensor("gradient/Net_fc1.weight")
    assert gradient.steps(modes.TRAIN) == [0, 2, 4]
    assert gradient.value(2, mode=modes.TRAIN).shape == (3, 4)
    loss = trial.tensor("CrossEntropyLoss_output_0")
    assert loss.value(0, mode=modes.EVAL) == pytest.approx(0.6659494638442993)


def test_global_steps_of_an_old_folder_are_those_of_smdebug(trial: Trial) -> None:
    for mode in (modes.TRAIN, modes.EVAL):
        for step in trial.steps(mode):
            number = trial.global_step(mode, step)
            assert number is not None
            assert trial.mode_modestep(number) == (mode, step)
    with pytest.raises(TensorUnavailableForStep):
        trial.tensor("gradient/Net_fc1.weight").value(0, mode=modes.EVAL)


def test_an_imported_job_opens_as_a_trial(tmp_path: Path) -> None:
    folder = unpack_golden(tmp_path) / "debug-output"
    job = imported("smdebug", folder, tmp_path / "store").job
    trial = create_trial(job.uri)
    assert trial.steps(modes.TRAIN) == [0, 2, 4]
    assert trial.tensor("gradient/Net_fc1.weight").value(4, mode=modes.TRAIN).shape == (3, 4)
