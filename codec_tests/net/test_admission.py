"""Who may come in, and who has to leave for it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kraftwire.net.admission import Admission
from kraftwire.net.complaints import Reason
from kraftwire.net.limits import Limits


@dataclass(eq=False)
class Visitor:
    """A connection without a socket."""

    admission: Admission
    address: str = "10.0.0.1"
    is_proven: bool = True
    idle_since: float = 0.0
    is_idle: bool = True
    dropped: list[Reason] = field(default_factory=list)

    def drop(self, reason: Reason, detail: object) -> None:
        assert detail
        self.dropped.append(reason)
        self.admission.remove(self)


def test_of_an_address_with_its_fill_the_longest_idle_leaves() -> None:
    admission = Admission(Limits(connections_per_address=2))
    one, two = Visitor(admission, idle_since=2.0), Visitor(admission, idle_since=1.0)
    elsewhere = Visitor(admission, address="10.0.0.2")
    for visitor in (one, two, elsewhere, Visitor(admission)):
        assert admission.admit(visitor)
    assert two.dropped == [Reason.FLOOD]
    assert not one.dropped
    assert not elsewhere.dropped
    assert len(admission) == 3


def test_those_that_never_asked_anything_leave_first() -> None:
    admission = Admission(Limits(connections_per_address=2))
    old, new = Visitor(admission), Visitor(admission, is_proven=False, idle_since=5.0)
    for visitor in (old, new, Visitor(admission)):
        assert admission.admit(visitor)
    assert new.dropped
    assert not old.dropped


def test_where_all_are_busy_nobody_leaves() -> None:
    admission = Admission(Limits(connections_per_address=1))
    busy = Visitor(admission, is_idle=False)
    assert admission.admit(busy)
    assert not admission.admit(Visitor(admission))
    assert not busy.dropped


def test_in_a_full_house_the_address_with_most_makes_room() -> None:
    admission = Admission(Limits(connections=3))
    alone = Visitor(admission, is_proven=False)
    crowd = [Visitor(admission, address="10.0.0.9") for _ in range(2)]
    for visitor in (alone, *crowd, Visitor(admission, address="10.0.0.3")):
        assert admission.admit(visitor)
    assert not alone.dropped
    assert sum(len(one.dropped) for one in crowd) == 1


def test_an_ipv6_network_is_one_address() -> None:
    admission = Admission(Limits(connections_per_address=1))
    first = Visitor(admission, address="2001:db8::1")
    assert admission.admit(first)
    assert admission.admit(Visitor(admission, address="2001:db8::ffff"))
    assert first.dropped
    mapped = [Visitor(admission, address=f"::ffff:10.0.0.{number}") for number in (1, 2)]
    assert all(admission.admit(visitor) for visitor in mapped)
    assert not mapped[0].dropped


def test_who_leaves_twice_is_counted_once() -> None:
    admission = Admission(Limits())
    visitor = Visitor(admission)
    admission.admit(visitor)
    admission.remove(visitor)
    admission.remove(visitor)
    assert len(admission) == 0
