"""The only package that reads environment variables and configuration files.

Every value is validated here, once. An invalid value is an error before the job starts that names
the key, the value and what is allowed.
"""

from sonde.settings.actions import ACTIONS_KEYS, ActionSettings, ActionsSettings
from sonde.settings.checks import (
    MAX_INTERVAL_SECONDS,
    Key,
    parse_duration,
    parse_interval,
    parse_size,
    price,
)
from sonde.settings.folders import state_folder
from sonde.settings.hook import (
    COLLECTION_KEYS,
    CollectionSettings,
    HookSettings,
    parse_save,
    read_collections,
)
from sonde.settings.process_environment import (
    DEFAULT_STORE,
    VARIABLES,
    WorkerPlacement,
    current_variables,
    default_store,
    environment,
    hook_settings,
    host_name,
    is_disabled,
    notebook_file,
    set_variables,
    worker_placement,
)
from sonde.settings.profile import (
    DEFAULT_WINDOWS,
    OPTION_KEYS,
    PROFILERS,
    WINDOW_KEYS,
    read_profiles,
    requested_windows,
)
from sonde.settings.rules import RULES_KEYS, RuleOptions, RuleSettings, RulesSettings
from sonde.settings.run import CONFIG_NAME, KEYS, RunSettings, load_settings
from sonde.settings.secrets import Secret

__all__ = [
    "ACTIONS_KEYS",
    "COLLECTION_KEYS",
    "CONFIG_NAME",
    "DEFAULT_STORE",
    "DEFAULT_WINDOWS",
    "KEYS",
    "MAX_INTERVAL_SECONDS",
    "OPTION_KEYS",
    "PROFILERS",
    "RULES_KEYS",
    "VARIABLES",
    "WINDOW_KEYS",
    "ActionSettings",
    "ActionsSettings",
    "CollectionSettings",
    "HookSettings",
    "Key",
    "RuleOptions",
    "RuleSettings",
    "RulesSettings",
    "RunSettings",
    "Secret",
    "WorkerPlacement",
    "current_variables",
    "default_store",
    "environment",
    "hook_settings",
    "host_name",
    "is_disabled",
    "load_settings",
    "notebook_file",
    "parse_duration",
    "parse_interval",
    "parse_save",
    "parse_size",
    "price",
    "read_collections",
    "read_profiles",
    "requested_windows",
    "set_variables",
    "state_folder",
    "worker_placement",
]
