"""When the hook of the old client saves."""

import pytest

from smdebug import SaveConfig, SaveConfigMode, modes
from smdebug.exceptions import SMDebugValueError


def saved(config: SaveConfig, limit: int = 1001, mode: modes = modes.TRAIN) -> list[int]:
    return [step for step in range(limit) if config.should_save_step(mode, step)]


@pytest.mark.parametrize(
    ("config", "steps"),
    [
        (SaveConfig(), [0, 500, 1000]),
        (SaveConfig(save_interval=400), [0, 400, 800]),
        (SaveConfig(save_interval=100, start_step=150, end_step=301), [200, 300]),
        (SaveConfig(save_interval=100, end_step=200), [0, 100]),
        (SaveConfig(save_steps=[3, 7]), [0, 3, 7, 500, 1000]),
    ],
)
def test_interval_range_and_listed_steps_are_saved(config: SaveConfig, steps: list[int]) -> None:
    assert saved(config) == steps


def test_modes_have_steps_of_their_own() -> None:
    config = SaveConfig({modes.TRAIN: SaveConfigMode(300), modes.EVAL: {"save_interval": 600}})
    assert saved(config) == [0, 300, 600, 900]
    assert saved(config, mode=modes.EVAL) == [0, 600]
    assert saved(config, mode=modes.PREDICT) == [0, 500, 1000]
    assert config.get_save_config(modes.TRAIN).save_interval == 300


def test_configuration_survives_json() -> None:
    config = SaveConfig({modes.EVAL: SaveConfigMode(2, 1, 9, [4])}, save_interval=10)
    assert SaveConfig.from_json(config.to_json()) == config
    assert SaveConfig.from_dict({"train": {"save_interval": 3}}).get_save_config(
        modes.TRAIN
    ) == SaveConfigMode(3)


def test_setting_an_attribute_applies_to_all_modes() -> None:
    config = SaveConfig()
    config.end_step = 0
    assert saved(config) == []


def test_defaults_are_merged_into_modes_that_are_not_set() -> None:
    config = SaveConfig({modes.TRAIN: SaveConfigMode(7)})
    config.merge_default_save_config(SaveConfig(save_interval=900))
    assert saved(config, 15) == [0, 7, 14]
    assert saved(config, mode=modes.EVAL) == [0, 900]


@pytest.mark.parametrize(
    "arguments",
    [
        {"save_interval": 0},
        {"save_interval": "10"},
        {"save_steps": 3},
        {"save_steps": [-1]},
        {"mode_save_configs": {"TRAIN": SaveConfigMode()}},
    ],
)
def test_invalid_values_are_refused(arguments: dict[str, object]) -> None:
    with pytest.raises(SMDebugValueError):
        SaveConfig(**arguments)  # type: ignore[arg-type]
