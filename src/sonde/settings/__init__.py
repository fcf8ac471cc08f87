"""The only reader of environment variables and configuration files.

Every value is checked here, once; a wrong one is an error before the job starts that names the key,
the value and what is allowed.
"""

from sonde.settings.actions import ACTIONS_KEYS, ActionSettings, ActionsSettings
from sonde.settings.checks import (
    LONGEST_INTERVAL_SECONDS,
    Key,
    parse_duration,
    parse_interval,
    parse_size,
)
from sonde.settings.folders import state_folder
from sonde.settings.hook import (
    COLLECTION_KEYS,
    CollectionSettings,
    HookSettings,
    parse_save,
    read_collections,
)
from sonde.settings.profile import (
    DEFAULT_WINDOWS,
    OPTION_KEYS,
    WINDOW_KEYS,
    read_profiles,
    requested_windows,
)
from sonde.settings.rules import RULES_KEYS, AskedRules, RuleSettings, RulesSettings
from sonde.settings.run import CONFIG_NAME, KEYS, RunSettings, load_settings
from sonde.settings.secrets import Secret
from sonde.settings.surroundings import (
    DEFAULT_STORE,
    VARIABLES,
    Placement,
    WorkerPlace,
    announce,
    default_store,
    environment,
    hook_settings,
    is_disabled,
    notebook_file,
    placement,
    worker_place,
)

__all__ = [
    "ACTIONS_KEYS",
    "COLLECTION_KEYS",
    "CONFIG_NAME",
    "DEFAULT_STORE",
    "DEFAULT_WINDOWS",
    "KEYS",
    "LONGEST_INTERVAL_SECONDS",
    "OPTION_KEYS",
    "RULES_KEYS",
    "VARIABLES",
    "WINDOW_KEYS",
    "ActionSettings",
    "ActionsSettings",
    "AskedRules",
    "CollectionSettings",
    "HookSettings",
    "Key",
    "Placement",
    "RuleSettings",
    "RulesSettings",
    "RunSettings",
    "Secret",
    "WorkerPlace",
    "announce",
    "default_store",
    "environment",
    "hook_settings",
    "is_disabled",
    "load_settings",
    "notebook_file",
    "parse_duration",
    "parse_interval",
    "parse_save",
    "parse_size",
    "placement",
    "read_collections",
    "read_profiles",
    "requested_windows",
    "state_folder",
    "worker_place",
]
