"""One setting read or written by its dotted key; the rest of the file stays as it is."""

import stat
from pathlib import Path

import json5
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clew.config import Config, get, parse, put, save, schema
from clew.config.edit import value_of
from clew.config.keys import join, split
from clew.errors import BadInput, BadSettings

KEEP = "agents.defaults.compaction.keepRecentTokens"

COMMENTED = """// ours
{
  /* agents */ agents: {
    defaults: {
      compaction: { mode: 'default', keepRecentTokens: 5 /* few */ }, // until June
      // "keepRecentTokens: 1" was too little
    },
  },
}
"""


def test_a_value_set_anew_leaves_every_other_byte() -> None:
    assert put(COMMENTED, KEEP, 900) == COMMENTED.replace("keepRecentTokens: 5", "keepRecentTokens: 900")


def test_a_new_key_goes_into_its_group_and_comments_stay() -> None:
    changed = put(COMMENTED, "agents.defaults.model", "openai/gpt-5.1")
    assert parse(changed).agents.defaults.model.primary == "openai/gpt-5.1"
    assert all(remark in changed for remark in ("// ours", "/* agents */", "// until June", "was too little"))


def test_groups_that_are_missing_are_made() -> None:
    assert get(parse(put("", KEEP, 4)), KEEP) == 4


def test_a_name_with_dots_is_written_in_brackets() -> None:
    changed = put("{}", 'agents.defaults.models["openai/gpt-5.1"].alias', "g")
    assert get(parse(changed), 'agents.defaults.models["openai/gpt-5.1"].alias') == "g"


def test_a_value_that_would_be_a_mistake_is_refused() -> None:
    with pytest.raises(BadSettings, match="greater than or equal to 1"):
        put(COMMENTED, KEEP, 0)


def test_a_file_that_is_broken_already_is_not_touched() -> None:
    with pytest.raises(BadSettings, match="mend that first"):
        put("{agents: ", KEEP, 5)


def test_a_value_in_force_includes_defaults() -> None:
    assert get(Config(), "agents.defaults.compaction.qualityGuard") == {"enabled": True, "maxRetries": 1}


def test_an_unknown_key_names_the_nearest() -> None:
    with pytest.raises(BadInput, match=r"Did you mean agents\.defaults\.compaction\.keepRecentTokens\?"):
        get(Config(), "agents.defaults.compaction.keepRecentToken")


@pytest.mark.parametrize("key", ["", "a[", "a..b", "x]"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with pytest.raises(BadInput):
        put("{}", key, 1)


def test_a_secret_is_not_shown() -> None:
    config = parse('{models: {providers: {x: {apiKey: "sk-1"}}}}')
    assert "sk-1" not in str(get(config, "models.providers.x"))


@pytest.mark.parametrize(("typed", "value"), [("true", True), ("20mb", "20mb"), ("[1]", [1]), ("'a'", "a"), ("", "")])
def test_a_typed_value_is_json5_or_the_text_itself(typed: str, value: object) -> None:
    assert value_of(typed) == value


def test_saving_keeps_the_rights_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "clew.json5"
    file.write_text(COMMENTED, "utf-8")
    file.chmod(0o640)
    save(None, {"CLEW_HOME": str(tmp_path)}, KEEP, 77)
    assert get(parse(file.read_text("utf-8")), KEEP) == 77
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert [found.name for found in tmp_path.iterdir()] == ["clew.json5"]


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    made = save(tmp_path / "new" / "c.json5", {}, KEEP, 3)
    assert stat.S_IMODE(made.stat().st_mode) == 0o600


def test_the_schema_accepts_both_ways_of_writing_a_size_and_tells_what_it_means() -> None:
    size = schema()["$defs"]["Compaction"]["properties"]["maxActiveTranscriptBytes"]
    assert {one["type"] for one in size["anyOf"]} == {"integer", "string"}
    assert "20mb" in size["description"]


@given(st.lists(st.text("ab.[]/-1:", min_size=1), min_size=1, max_size=4))
def test_a_key_goes_there_and_back(parts: list[str]) -> None:
    assert split(join(parts)) == tuple(parts)


NAMES = st.sampled_from(["mode", "keepRecentTokens", "timeoutSeconds", "model", "notifyUser"])
VALUES = {"mode": "default", "keepRecentTokens": 3, "timeoutSeconds": 4, "model": "a/b,}", "notifyUser": True}
GAPS = st.sampled_from(["", " ", "\n  ", "/* {,} */", "// a, b: }\n", "\t"])


@given(st.lists(NAMES, unique=True, max_size=4), NAMES, st.data())
@settings(max_examples=40)
def test_setting_a_value_changes_that_value_and_nothing_else(names: list[str], name: str, data: st.DataObject) -> None:
    def gap() -> str:
        return data.draw(GAPS)

    members = [f"{gap()}{one}{gap()}:{gap()}{json5.dumps(VALUES[one])}{gap()}" for one in names]
    trailing = "," if members and data.draw(st.booleans()) else ""
    text = f"{{agents:{{defaults:{{compaction:{gap()}{{{','.join(members)}{trailing}{gap()}}}{gap()}}}}}}}"
    changed = put(text, f"agents.defaults.compaction.{name}", VALUES[name])
    assert json5.loads(changed)["agents"]["defaults"]["compaction"] == {
        **{one: VALUES[one] for one in names},
        name: VALUES[name],
    }
    assert all(changed.count(remark) == text.count(remark) for remark in ("/* {,} */", "// a, b: }"))
