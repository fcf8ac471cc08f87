"""Rules from a user's file."""

from pathlib import Path

import pytest

from sonde.errors import UsageError
from sonde.rules._selection import load_source, select_rules
from sonde.settings import load_settings

RULE = '''
import sonde

class MyRule(sonde.Rule):
    """The loss is above a limit."""

    limit: float = 1.0
    needs = (sonde.Losses(),)

    def check(self, window, state):
        for loss in window.losses():
            for step, value in loss:
                if value > self.limit:
                    yield self.finding(f"{value}", step=step)
'''


def config(folder: Path, text: str) -> Path:
    (folder / "my_rules.py").write_text(RULE)
    file = folder / "sonde.toml"
    file.write_text(text)
    return file


def test_a_rule_is_loaded_from_a_file_next_to_the_configuration(tmp_path: Path) -> None:
    file = config(tmp_path, '[rules.MyRule]\nsource = "my_rules.py"\nlimit = 2.5\n')
    [rule] = select_rules(["my_rule"], load_settings(file).rules)
    assert rule.parameters == {"limit": 2.5}
    assert "MyRule" in [each.name() for each in select_rules((), load_settings(file).rules)]


def test_the_setting_of_a_rule_precedes_that_of_all_rules(tmp_path: Path) -> None:
    text = '[rules]\nsetting = "classic"\n[rules.StepOutlier]\nsetting = "calibrated"\n'
    rules = select_rules((), load_settings(config(tmp_path, text)).rules)
    settings = {rule.name(): rule.setting.value for rule in rules}
    assert settings["StepOutlier"] == "calibrated"
    assert settings["VanishingGradient"] == "classic"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[rules]\nlevel = 3\n", "[rules] unknown key level = 3"),
        (
            '[rules]\nsetting = "hard"\n',
            "setting = 'hard' is invalid. Choose one of: calibrated, classic",
        ),
        ("[rules.StepOutlier]\nstddev = -1\n", "[rules.StepOutlier] stddev = -1 must be a number"),
        (
            "[rules.Stepoutlier]\nstddev = 1\n",
            "No rule is named 'Stepoutlier'. Did you mean 'StepOutlier'",
        ),
        ('[rules.NoRule]\nsource = "my_rules.py"\n', "my_rules.py has no rule no_rule"),
        ('[rules.MyRule]\nsource = "other.py"\n', "is not a Python file"),
    ],
)
def test_an_invalid_configuration_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    file = config(tmp_path, text)
    with pytest.raises(UsageError) as error:
        select_rules((), load_settings(file).rules)
    assert message in str(error.value)


def test_a_broken_file_is_a_one_line_error(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("1 / 0\n")
    with pytest.raises(UsageError, match=r"Cannot load the rules in .*: ZeroDivisionError"):
        load_source(file, "my_rule")
