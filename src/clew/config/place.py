"""Where Clew's files are: settings and data, by argument, by environment, or where the platform keeps such things."""

from collections.abc import Mapping
from pathlib import Path

import platformdirs

FILE = "clew.json5"
"""The name of the settings file in its folder."""


def config_path(given: Path | None, env: Mapping[str, str]) -> Path:
    """The settings file: `given`, else `$CLEW_CONFIG`, else `$CLEW_HOME/clew.json5`, else the user's own."""
    if given is not None:
        return given
    if named := env.get("CLEW_CONFIG"):
        return Path(named).expanduser()
    if home := env.get("CLEW_HOME"):
        return Path(home).expanduser() / FILE
    return platformdirs.user_config_path("clew", appauthor=False) / FILE


def is_named(given: Path | None, env: Mapping[str, str]) -> bool:
    """Whether somebody named the settings file, so that its absence is a mistake."""
    return given is not None or bool(env.get("CLEW_CONFIG"))


def data_dir(env: Mapping[str, str]) -> Path:
    """The folder of the store: `$CLEW_HOME`, else the user's data folder. It may not exist yet."""
    if home := env.get("CLEW_HOME"):
        return Path(home).expanduser()
    return platformdirs.user_data_path("clew", appauthor=False)
