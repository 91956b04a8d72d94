"""Settings under OpenClaw's names, in JSON5: gathered from the floors below, every mistake reported at once."""

from clew.config.edit import get, put, save, schema
from clew.config.load import check, load, not_yet, parse
from clew.config.place import config_path, data_dir
from clew.config.tree import Config

__all__ = ["Config", "check", "config_path", "data_dir", "get", "load", "not_yet", "parse", "put", "save", "schema"]
