"""Each check finds its fault, in any language, and finds nothing in a brief without it."""

import pytest

from clew.compact.audit import CHECKS, Draft, Evidence, audit, reflects, same_ask
from clew.compact.brief import HEADINGS
from clew.compact.source import Source
from clew.transcript import assistant, result, user
from tests.unit.making import call, entries

RUN = call("run", 1, command="pytest tests/test_login.py --maxfail=1")
SOURCE = Source(
    entries(
        user("Fix the login timeout in src/auth/login.py, ticket AUTH-731, and never touch the migrations folder."),
        assistant("Raising the timeout from 60 to 90 seconds.", RUN),
        result(RUN, "2 passed in build 7f3a9c2e1b"),
        assistant("The login timeout is now 90 seconds; both tests pass."),
        user("请把订单服务的数据库迁移到新集群，并验证数据一致性"),
    )
)
ASK = "请把订单服务的数据库迁移到新集群，并验证数据一致性"
GOOD = """## Decisions
- The login timeout was raised to 90 seconds in src/auth/login.py; both tests pass.

## Open TODOs
- 把订单服务的数据库迁移到新集群

## Constraints/Rules
- never touch the migrations folder

## Pending user asks
- 请把订单服务的数据库迁移到新集群，并验证数据一致性

## Exact identifiers
- AUTH-731
- 7f3a9c2e1b"""
EVIDENCE = Evidence(
    SOURCE,
    identifiers=("AUTH-731", "src/auth/login.py", "7f3a9c2e1b"),
    ask=ASK,
    settled=("Fix the login timeout in src/auth/login.py, ticket AUTH-731, and never touch the migrations folder.",),
    speech="Fix it please. 请把订单服务的数据库迁移到新集群，并验证数据一致性",
)


def codes(text, evidence=EVIDENCE):
    return [finding.code for finding in audit(Draft(text, text), evidence)]


def test_a_good_brief_has_no_findings():
    assert codes(GOOD) == []


@pytest.mark.parametrize(
    ("change", "code"),
    [
        pytest.param(("## Open TODOs\n", ""), "missing_section", id="a heading is missing"),
        pytest.param(("## Open TODOs", "## open todos"), "missing_section", id="a heading in another case"),
        pytest.param(("- AUTH-731\n", "## Decisions\n- AUTH-731\n"), "duplicate_section", id="a heading twice"),
        pytest.param(("- 7f3a9c2e1b", "- a build"), "missing_identifier", id="an identifier is dropped"),
        pytest.param(("AUTH-731", "AUTH-7310"), "missing_identifier", id="an identifier inside a longer one"),
        pytest.param(("数据库迁移到新集群", "头像换成新样式"), "ask_not_reflected", id="the ask is not there"),
        pytest.param(("- 请把", "- Fix the login timeout, AUTH-731\n- 请把"), "settled_ask_pending", id="a done ask"),
        pytest.param(("- AUTH-731", "- AUTH-731\n- AUTH-999"), "invented_identifier", id="an identifier from nowhere"),
        pytest.param(
            ("- never touch", "- The payroll exporter must round every currency to three decimals\n- never touch"),
            "unsupported_line",
            id="a line from nowhere",
        ),
    ],
)
def test_a_fault_is_found(change, code):
    broken = GOOD.replace(*change)
    if code == "ask_not_reflected":
        broken = broken.replace("并验证数据一致性", "").replace("请把订单服务的", "")
    assert broken != GOOD
    assert code in codes(broken)


def test_a_brief_in_another_language_than_the_session_is_noted():
    chinese = Evidence(SOURCE, ask=None, speech="请把订单服务的数据库迁移到新集群，并验证数据一致性")
    english = "\n".join(f"{heading}\n- The login timeout is 90 seconds" for heading in HEADINGS)
    assert "other_language" in codes(english, chinese)
    assert "other_language" not in codes(GOOD, EVIDENCE)


def test_the_open_ask_may_be_pending_though_a_settled_one_resembles_it():
    evidence = Evidence(SOURCE, ask=ASK, ask_open=True, settled=(ASK,))
    assert "settled_ask_pending" not in codes(GOOD, evidence)


@pytest.mark.parametrize(
    ("ask", "text", "expected"),
    [
        ("fix the login timeout", "Fixing logins; timeouts remain", True),
        ("fix the login timeout", "nothing related at all", False),
        ("请帮我修复登录接口的超时问题", "登录超时修复中", True),
        ("请帮我修复登录接口的超时问题", "正在迁移数据库", False),
        ("ログイン画面のタイムアウトを修正してください", "ログイン画面のタイムアウトは修正中", True),
        ("로그인 시간 초과를 수정해 주세요", "로그인 시간 초과 수정 중", True),
        ("Исправь таймаут логина", "Таймаут логина исправлен", True),
        ("继续", "The user said 继续", True),
        ("???", "anything", True),
    ],
)
def test_an_ask_is_recognised_in_every_language(ask, text, expected):
    assert reflects(ask, text) is expected


def test_two_different_requests_are_not_taken_for_one():
    assert not same_ask("- Add a retry to the payment client", "Fix the login timeout in the auth service")
    assert same_ask("- the user wants the login timeout fixed", "Fix the login timeout")


def test_every_check_has_a_code_of_its_own():
    assert len({row.code for row in CHECKS}) == len(CHECKS)
