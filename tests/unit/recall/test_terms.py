"""How texts become terms, and that a plain tokenizer at blanks finds just these."""

import sqlite3
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.recall.terms import GAP, LONGEST, alone, spaced, terms


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("AUTH-731", "auth 731"),
        ("src/app/login.py", "src app login py"),
        ("snake_case", "snake case"),
        ("retryBudget", "retrybudget"),
        ("HTTPServer2", "httpserver2"),
        ("数据库 迁移", "数 据 库 迁 移"),
        ("第3章", "第 3 章"),
        ("データ、한국어", "デ ー タ 한 국 어"),
        ("résumé RÉSUMÉ re\u0301sume\u0301", "resume resume resume"),
        ("ＡＢＣ１２", "abc12"),
        ("straße İstanbul", "strasse istanbul"),
        ("👩‍👩‍👧 ok ✅ — … ·", "ok"),
        ("a\x00b\ud83dc", "a b c"),
        ("", ""),
        ("x" * 500, "x" * LONGEST),
    ],
)
def test_a_text_is_parted_into_terms(text, found):
    assert terms(text) == found.split()


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("the retryBudget", f"the retrybudget {GAP} retry budget"),
        ("getHTTPResponse", f"gethttpresponse {GAP} get http response"),
        ("parse_tree2 parse_tree2", f"parse tree2 parse tree2 {GAP} parsetree2"),
        ("_private MAX_SIZE", f"private max size {GAP} maxsize"),
        ("plain words", "plain words"),
    ],
)
def test_names_written_in_one_are_kept_in_parts_too(text, kept):
    assert spaced(text) == kept


def test_a_row_of_letters_takes_no_longer_than_its_length():
    for row in ("库" * 200_000, "a" * 200_000, "aB" * 100_000, "_" * 200_000, "a_" * 100_000, "é" * 200_000):
        spaced(row)


@given(st.text(max_size=60))
def test_what_is_kept_of_a_text_says_the_same_again(text):
    assert terms(" ".join(terms(text))) == terms(text)
    assert spaced(text).split(" ")[: len(terms(text))] == (terms(text) or [""])[: len(terms(text))]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40))
def test_sqlite_parts_what_is_kept_at_its_blanks(text):
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE VIRTUAL TABLE t USING fts5 (x, content = '', tokenize = 'ascii')")
        db.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'instance')")
        db.execute("INSERT INTO t (rowid, x) VALUES (1, ?)", (spaced(text),))
        assert [term for (term,) in db.execute("SELECT term FROM v ORDER BY offset")] == spaced(text).split()


def test_characters_of_scripts_without_blanks_stand_alone():
    assert [one for one in "库カ가กA1é" if alone(one)] == ["库", "カ", "가", "ก"]
