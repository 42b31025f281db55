"""handrail.transcripts.chain: which entries are the conversation, and in what order."""

from hypothesis import given
from hypothesis import strategies as st

from handrail.transcripts.chain import Chain, Link, conversation, threads


def link(uuid: str, parent: str | None = None, kind: str = "user", **fields: object) -> Link:
    return Link(0, 0, kind, uuid, parent, **fields)  # type: ignore[arg-type]


def names(chain: Chain) -> str:
    return "".join(link.uuid for link in chain.links)


def test_conversation_ends_at_the_newest_entry():
    links = [link("a"), link("b", "a", "assistant"), link("c", "b", "attachment"), link("d", "c"), link("e", "d")]
    assert names(conversation(links)) == "abcde"


def test_abandoned_branch_is_left_out():
    links = [link("a"), link("b", "a"), link("c", "b"), link("d", "a"), link("e", "d")]
    assert names(conversation(links)) == "ade"
    assert names(conversation(links, leaf="c")) == "abc"


def test_meta_entry_does_not_end_a_conversation():
    links = [link("a"), link("b", "a"), link("m", "a", meta=True), link("s", "b", "system")]
    assert names(conversation(links)) == "ab"


def test_duplicate_entry_appears_once():
    links = [link("a"), link("b", "a"), link("a"), link("b", "a"), link("c", "b")]
    assert names(conversation(links)) == "abc"


def test_an_empty_file_is_an_empty_conversation():
    assert conversation([]) == Chain([])
    assert conversation([link("a", kind="system")]) == Chain([])


def test_parallel_calls_and_results_are_inserted_in_order():
    links = [
        link("q"),
        link("t", "q", "assistant", message_id="m"),
        link("1", "t", "assistant", message_id="m", calls=("c1",)),
        link("2", "1", "assistant", message_id="m", calls=("c2",)),
        link("3", "2", "assistant", message_id="m", calls=("c3",)),
        link("y", "2", answers=("c2",)),
        link("z", "3", answers=("c3",)),
        link("x", "1", answers=("c1",)),
        link("e", "x", "assistant", message_id="n"),
    ]
    assert names(conversation(links)) == "qt123yzxe"


def test_second_result_of_a_call_is_not_inserted():
    links = [
        link("q"),
        link("1", "q", "assistant", message_id="m", calls=("c1",)),
        link("x", "1", answers=("c1",)),
        link("y", "1", answers=("c1",)),
        link("e", "y", "assistant", message_id="n"),
    ]
    assert names(conversation(links)) == "q1ye"


def test_cycle_ends_the_chain_and_is_counted():
    chain = conversation([link("a", "c"), link("b", "a"), link("c", "b")])
    assert (names(chain), chain.cycles) == ("abc", 1)
    alone = conversation([link("a", "a")])
    assert (names(alone), alone.cycles) == ("a", 1)


def test_missing_parent_is_replaced_by_the_line_before_and_counted():
    chain = conversation([link("a"), link("b", "a"), link("d", "lost"), link("e", "d")])
    assert (names(chain), chain.gaps) == ("abde", 1)
    first = conversation([link("b", "lost")])
    assert (names(first), first.gaps) == ("b", 1)


def test_chain_crosses_a_compaction_unless_limited_to_it():
    links = [link("a"), link("b", "a"), link("x", None, "system", logical_parent="b"), link("s", "x"), link("c", "s")]
    assert names(conversation(links)) == "abxsc"
    assert names(conversation(links, since_compaction=True)) == "xsc"


def test_compaction_without_its_past_is_not_damage():
    chain = conversation([link("x", None, "system", logical_parent="gone"), link("c", "x")])
    assert (names(chain), chain.gaps) == ("xc", 0)


def test_sidechains_are_grouped_by_their_first_entry():
    links = [link("a"), link("p"), link("b", "a"), link("q", "p"), link("c", "b")]
    assert ["".join(one.uuid for one in group) for group in threads(links)] == ["abc", "pq"]


uuids = st.sampled_from("abcdefgh")
links_of_any_shape = st.lists(
    st.builds(
        Link,
        offset=st.just(0),
        length=st.just(0),
        type=st.sampled_from(["user", "assistant", "system"]),
        uuid=uuids,
        parent=st.none() | uuids | st.just("lost"),
        logical_parent=st.none() | uuids,
        meta=st.booleans(),
        message_id=st.none() | st.sampled_from("mn"),
        calls=st.lists(st.sampled_from("xyz"), max_size=2).map(tuple),
        answers=st.lists(st.sampled_from("xyz"), max_size=2).map(tuple),
    ),
    max_size=12,
)


@given(links_of_any_shape)
def test_any_links_end_with_each_entry_at_most_once(links: list[Link]):
    chain = conversation(links)
    last_written = {one.uuid: one for one in links}
    assert len({one.uuid for one in chain.links}) == len(chain.links)
    assert bool(chain.links) == any(one.type in ("user", "assistant") for one in last_written.values())
