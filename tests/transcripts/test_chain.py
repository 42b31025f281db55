"""handrail.transcripts.chain: which entries are the conversation, and in what order."""

from hypothesis import given
from hypothesis import strategies as st

from handrail.transcripts.chain import Chain, Link, conversation, threads


def link(uuid: str, parent: str | None = None, kind: str = "user", **fields: object) -> Link:
    return Link(0, 0, kind, uuid, parent, **fields)  # type: ignore[arg-type]


def names(chain: Chain) -> str:
    return "".join(link.uuid for link in chain.links)


def test_a_conversation_goes_from_the_first_entry_to_the_newest():
    links = [link("a"), link("b", "a", "assistant"), link("c", "b", "attachment"), link("d", "c"), link("e", "d")]
    assert names(conversation(links)) == "abcde"


def test_a_branch_that_was_left_is_not_part_of_it():
    links = [link("a"), link("b", "a"), link("c", "b"), link("d", "a"), link("e", "d")]
    assert names(conversation(links)) == "ade"
    assert names(conversation(links, leaf="c")) == "abc"


def test_what_the_cli_wrote_to_itself_does_not_end_a_conversation():
    links = [link("a"), link("b", "a"), link("m", "a", meta=True), link("s", "b", "system")]
    assert names(conversation(links)) == "ab"


def test_an_entry_that_was_written_twice_is_there_once():
    links = [link("a"), link("b", "a"), link("a"), link("b", "a"), link("c", "b")]
    assert names(conversation(links)) == "abc"


def test_an_empty_file_is_an_empty_conversation():
    assert conversation([]) == Chain([])
    assert conversation([link("a", kind="system")]) == Chain([])


def test_parallel_calls_and_their_results_are_put_back_in_order():
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


def test_a_second_result_of_the_same_call_is_not_put_back():
    links = [
        link("q"),
        link("1", "q", "assistant", message_id="m", calls=("c1",)),
        link("x", "1", answers=("c1",)),
        link("y", "1", answers=("c1",)),
        link("e", "y", "assistant", message_id="n"),
    ]
    assert names(conversation(links)) == "q1ye"


def test_a_cycle_ends_the_way_back_and_is_counted():
    chain = conversation([link("a", "c"), link("b", "a"), link("c", "b")])
    assert (names(chain), chain.cycles) == ("abc", 1)
    alone = conversation([link("a", "a")])
    assert (names(alone), alone.cycles) == ("a", 1)


def test_a_lost_parent_is_bridged_by_what_stood_before_and_counted():
    chain = conversation([link("a"), link("b", "a"), link("d", "lost"), link("e", "d")])
    assert (names(chain), chain.gaps) == ("abde", 1)
    first = conversation([link("b", "lost")])
    assert (names(first), first.gaps) == ("b", 1)


def test_compaction_is_crossed_unless_only_what_the_model_sees_is_wanted():
    links = [link("a"), link("b", "a"), link("x", None, "system", logical_parent="b"), link("s", "x"), link("c", "s")]
    assert names(conversation(links)) == "abxsc"
    assert names(conversation(links, since_compaction=True)) == "xsc"


def test_a_compaction_whose_past_is_gone_is_no_damage():
    chain = conversation([link("x", None, "system", logical_parent="gone"), link("c", "x")])
    assert (names(chain), chain.gaps) == ("xc", 0)


def test_sidechains_are_grouped_by_where_they_began():
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
def test_any_tangle_of_links_comes_to_an_end_with_each_entry_at_most_once(links: list[Link]):
    chain = conversation(links)
    last_written = {one.uuid: one for one in links}
    assert len({one.uuid for one in chain.links}) == len(chain.links)
    assert bool(chain.links) == any(one.type in ("user", "assistant") for one in last_written.values())
