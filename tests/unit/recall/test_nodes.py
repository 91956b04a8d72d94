"""The graph of a session's summaries: what stands for what, and what is wrong where something is."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clew.recall.nodes import Flaw, Graph, ends, flaws, graph, standing
from clew.transcript import Compaction, Entry, Ledger, Node, Reset, Verdict


def brief(seq: int, kept: int | None, previous: str | None = None, *nodes: Node) -> tuple[int, Entry]:
    """A compaction `c9` at #9 that keeps from `e{kept}` on."""
    body = Compaction(
        f"Brief at {seq}", f"e{kept}" if kept else None, 0, 0, "manual", Verdict("accepted"), Ledger(),
        previous=previous, nodes=nodes,
    )  # fmt: skip
    return seq, Entry(f"c{seq}", None, seq * 1000, body)


def leaf(first: int, last: int) -> Node:
    return Node(f"l{first}", 0, f"e{first}", f"e{last}", f"about {first}", tokens=10)


def over(id: str, depth: int, *below: Node) -> Node:
    return Node(id, depth, below[0].first, below[-1].last, f"over {id}", tuple(one.id for one in below))


def made(*rounds: tuple[int, Entry], start: int = 1, known: int = 100) -> Graph:
    """The graph of rounds that lead up to the last one, in a session of entries `e1`, `e2`, …"""
    chain, _ = standing(rounds, rounds[-1][1].id if rounds else None)
    seqs = {f"e{n}": n for n in range(1, known + 1)}
    return graph(chain, {name: seqs[name] for name in ends(chain) if name in seqs}, start)


def codes(of: Graph) -> list[str]:
    return [flaw.code for flaw in flaws(of)]


ORDINARY = (brief(10, 8), brief(20, 15, "c10"), brief(30, None, "c20"))


def test_each_ordinary_brief_stands_for_what_left_the_view_with_it() -> None:
    of = made(*ORDINARY)
    assert [(one.id, one.depth, one.first, one.last, one.children) for one in of.summaries] == [
        ("c10", 0, 1, 7, ()), ("c20", 1, 8, 14, ("c10",)), ("c30", 2, 15, 29, ("c20",)),
    ]  # fmt: skip
    assert [one.id for one in of.roots] == ["c30"]
    assert of.reach(of.roots[0]) == (1, 29)
    assert (of.end, codes(of)) == (30, [])


def test_what_was_taken_back_and_what_lies_before_a_reset_is_no_part_of_it() -> None:
    undone, after = brief(20, 15, "c10"), brief(30, 25, "r22")
    chain, before = standing([ORDINARY[0], undone], "c10")
    assert ([one.id for one in chain], before) == (["c10"], None)
    chain, before = standing([ORDINARY[0], undone, after], "c30")
    assert ([one.id for one in chain], before) == (["c30"], "r22")
    assert standing([ORDINARY[0]], "r22") == ([], "r22")
    assert standing([(22, Entry("r22", None, 0, Reset()))], "r22") == ([], "r22")


def test_a_circle_of_compactions_ends() -> None:
    chain, _ = standing([brief(10, 8, "c20"), brief(20, 15, "c10")], "c20")
    assert [one.id for one in chain] == ["c10", "c20"]


ONE = [leaf(1, 4), leaf(5, 7)]
TWO = [leaf(8, 11), leaf(12, 14)]
TOP = over("top", 1, *ONE)
LOSSLESS = (brief(10, 8, None, *ONE), brief(20, 15, "c10", *TWO, TOP))


def test_summaries_of_the_engine_are_the_graph() -> None:
    of = made(*LOSSLESS)
    assert [one.id for one in of.summaries] == ["l1", "l5", "l8", "l12", "top"]
    assert [one.id for one in of.roots] == ["top", "l8", "l12"]
    assert [one.id for one in of.children(of.by_id["top"])] == ["l1", "l5"]
    assert (of.by_id["top"].first, of.by_id["top"].last, codes(of)) == (1, 7, [])


def test_an_entry_is_in_its_leaf_and_one_in_view_in_none() -> None:
    of = made(*LOSSLESS)
    found = [of.holding(seq) for seq in (1, 4, 5, 14, 15, 99)]
    assert [one.id if one else None for one in found] == ["l1", "l1", "l5", "l12", None, None]
    assert Graph().holding(1) is None


def test_an_engine_that_takes_over_goes_on_where_the_briefs_end() -> None:
    first = ORDINARY[0]
    of = made(first, brief(20, 15, "c10", *TWO))
    assert [one.id for one in of.roots] == ["c10", "l8", "l12"]
    assert codes(of) == []
    of = made(*LOSSLESS, brief(30, 25, "c20"))
    assert (of.summaries[-1].first, of.summaries[-1].children) == (15, ("top", "l8", "l12"))
    assert codes(of) == []


def broken(*nodes: Node, kept: int = 15) -> Graph:
    return made(brief(20, kept, None, *nodes), known=30)


FLAWS = [
    pytest.param(broken(leaf(1, 4), leaf(7, 14)), [("lost", "l7")], id="a gap"),
    pytest.param(broken(leaf(1, 14), kept=18), [("lost", "")], id="a gap before the view"),
    pytest.param(broken(leaf(3, 14)), [("lost", "l3")], id="a gap at the beginning"),
    pytest.param(broken(leaf(1, 9), leaf(7, 14)), [("twice", "l7")], id="two spans overlap"),
    pytest.param(broken(leaf(1, 17)), [("twice", "")], id="in a summary and in view"),
    pytest.param(broken(leaf(5, 14), leaf(1, 4)), [("lost", "l5"), ("twice", "l1")], id="leaves in a wrong order"),
    pytest.param(broken(leaf(9, 2), leaf(1, 14)), [("order", "l9")], id="a span that runs backwards"),
    pytest.param(broken(leaf(1, 55)), [("unknown_end", "l1")], id="an end that is nowhere"),
    pytest.param(
        broken(*ONE, over("top", 1, leaf(1, 7)), leaf(8, 14)), [("order", "top")], id="a span unlike its children's"
    ),
    pytest.param(
        broken(*ONE, over("top", 1, ONE[0], leaf(50, 7)), leaf(8, 14)), [("unknown_child", "top")], id="no such child"
    ),
    pytest.param(
        broken(over("top", 1, *ONE), *ONE, leaf(8, 14)), [("order", "top")] * 2, id="children after their parent"
    ),
    pytest.param(broken(*ONE, over("top", 3, *ONE), leaf(8, 14)), [("depth", "top")], id="a wrong depth"),
    pytest.param(
        broken(*ONE, TOP, over("more", 1, ONE[1]), leaf(8, 14)), [("two_parents", "more")], id="a child of two"
    ),
    pytest.param(broken(leaf(1, 14), leaf(1, 14)), [("twice", "l1"), ("same_id", "l1")], id="one id twice"),
    pytest.param(
        made(brief(10, 8), brief(20, 3, "c10")), [("order", "c20"), ("twice", "")], id="a brief that went back"
    ),
    pytest.param(made(brief(10, 555)), [("unknown_end", "c10")], id="a brief that keeps what is nowhere"),
]


@pytest.mark.parametrize(("of", "found"), FLAWS)
def test_a_flaw_is_found_where_it_is(of: Graph, found: list[tuple[str, str]]) -> None:
    assert [(flaw.code, flaw.node) for flaw in flaws(of)] == found


def test_a_gap_where_nothing_was_said_loses_nothing() -> None:
    of = broken(leaf(1, 4), leaf(7, 14))
    assert list(flaws(of, lambda first, last: False)) == []
    assert list(flaws(of, lambda first, last: first <= 6 <= last)) == [
        Flaw("lost", "l7", "no summary stands for #5 to #6 before it")
    ]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30), st.integers(2, 4), st.data())
def test_any_tiling_is_sound_and_a_leaf_taken_out_is_missed(sizes: list[int], width: int, data: st.DataObject) -> None:
    cuts = [1]
    for size in sizes:
        cuts.append(cuts[-1] + size)
    leaves = [leaf(first, after - 1) for first, after in pairwise(cuts)]
    tree, level = list(leaves), leaves
    while len(level) > width:
        level = [
            over(f"{level[at].id}+", level[at].depth + 1, *level[at : at + width])
            for at in range(0, len(level) - width + 1, width)
        ]
        tree += level
    of = made(brief(500, cuts[-1], None, *tree), known=cuts[-1])
    assert codes(of) == []
    assert all(of.holding(seq) for seq in range(1, cuts[-1]))
    gone = data.draw(st.sampled_from(leaves))
    rest = [one for one in tree if one != gone]
    assert codes(made(brief(500, cuts[-1], None, *rest), known=cuts[-1])) != []
