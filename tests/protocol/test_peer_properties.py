"""Two peers joined by ordered pipes: every request ends exactly once in any sequence of steps."""

from __future__ import annotations

from collections import Counter, deque

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from handrail.errors import LocalProtocolError
from handrail.protocol.codec import decode
from handrail.protocol.frames import Frame
from handrail.protocol.peer import Answered, Asked, Ignored, Peer, Withdrawn

SIDES = st.sampled_from([0, 1])
Ask = tuple[int, str]


class TwoPeers(RuleBasedStateMachine):
    """The model: the end of each request. `sent` frames are in flight, in order; `open` requests are unsettled."""

    asks = Bundle("asks")
    openings = Bundle("openings")

    def __init__(self) -> None:
        super().__init__()
        self.peers = (Peer("left"), Peer("right"))
        self.sent: tuple[deque[Frame], deque[Frame]] = (deque(), deque())
        self.asked: list[Ask] = []
        self.ends: Counter[Ask] = Counter()
        self.answers: dict[Ask, bytes] = {}
        self.open: set[Ask] = set()

    def send(self, side: int, frame: Frame) -> None:
        self.sent[side].append(decode(frame.raw))

    @rule(target=asks, side=SIDES, subtype=st.sampled_from(["can_use_tool", "interrupt", "set_model"]))
    def ask(self, side: int, subtype: str) -> Ask:
        if self.peers[side].closed:
            try:
                self.peers[side].ask(subtype, {})
            except LocalProtocolError:
                return side, ""
            raise AssertionError("a closed peer has asked")
        request = self.peers[side].ask(subtype, {})
        self.asked.append((side, request.id))
        self.send(side, request)
        return side, request.id

    @rule(ask=asks)
    def cancel(self, ask: Ask) -> None:
        side, id = ask
        if (frame := self.peers[side].cancel(id)) is not None:
            self.ends[ask] += 1
            self.send(side, frame)

    @rule(target=openings, to=SIDES)
    def deliver(self, to: int) -> Ask:
        """Deliver the next frame of the other side."""
        if not self.sent[1 - to] or self.peers[to].closed:
            return to, ""
        frame = self.sent[1 - to].popleft()
        match self.peers[to].receive(frame):
            case Asked(request):
                assert (1 - to, request.id) not in self.open
                self.open.add((1 - to, request.id))
                return to, request.id
            case Answered(id, _, answer):
                self.ends[to, id] += 1
                assert self.answers[to, id] == answer.raw
            case Withdrawn(id):
                self.open.remove((1 - to, id))
            case Ignored(_, reason):
                assert reason in (
                    "it answers a request that is no longer waiting",
                    "it withdraws a request that is not open",
                )
        return to, ""

    @rule(opening=consumes(openings), fine=st.booleans())
    def settle(self, opening: Ask, fine: bool) -> None:
        """Answer or refuse a request; if that is no longer legal, nothing is sent."""
        side, id = opening
        peer, key = self.peers[side], (1 - side, id)
        legal = key in self.open and not peer.closed
        try:
            frame = peer.answer(id, {"side": side}) if fine else peer.refuse(id, "no", "code")
        except LocalProtocolError:
            assert not legal
            return
        assert legal
        self.open.remove(key)
        self.answers[key] = frame.raw
        self.send(side, frame)

    @rule(side=SIDES)
    def close(self, side: int) -> None:
        waiting, unanswered = self.peers[side].close()
        for id in waiting:
            self.ends[side, id] += 1
        assert {(1 - side, id) for id in unanswered} == {key for key in self.open if key[0] == 1 - side}
        self.open -= {(1 - side, id) for id in unanswered}
        assert not self.peers[side].waiting
        assert not self.peers[side].open

    @invariant()
    def every_id_is_used_once(self) -> None:
        assert len({id for _, id in self.asked}) == len(self.asked)

    @invariant()
    def an_ask_ends_at_most_once_and_waits_until_then(self) -> None:
        for side, id in self.asked:
            assert self.ends[side, id] == (0 if id in self.peers[side].waiting else 1)

    @invariant()
    def nothing_is_counted_that_an_honest_peer_cannot_cause(self) -> None:
        for peer in self.peers:
            assert (peer.counts.unknown_answers, peer.counts.duplicate_requests) == (0, 0)

    def teardown(self) -> None:
        """Once both have closed, every request has ended exactly once."""
        for side in (0, 1):
            self.close(side)
        assert self.ends == Counter(self.asked)


TwoPeers.TestCase.settings = settings(max_examples=100, stateful_step_count=40, deadline=None)
TestTwoPeers = TwoPeers.TestCase
