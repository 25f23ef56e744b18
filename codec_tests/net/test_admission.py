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
    is_trusted: bool = False
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


def test_half_open_connections_of_many_addresses_push_out_one_another() -> None:
    admission = Admission(Limits(connections=10, reserved_connections=2))
    proven = [Visitor(admission, address=f"10.0.1.{number}") for number in range(4)]
    assert all(map(admission.admit, proven))
    flood = [
        Visitor(admission, f"10.1.0.{number}", False, float(number), is_idle=number % 2 == 0)
        for number in range(100)
    ]
    assert all(map(admission.admit, flood))
    assert not any(one.dropped for one in proven)
    # The oldest of them went first, though half of them are in the middle of a request.
    assert [bool(one.dropped) for one in flood] == [True] * 96 + [False] * 4


def test_reserved_places_are_for_those_that_are_trusted() -> None:
    admission = Admission(Limits(connections=10, reserved_connections=3))
    busy = [Visitor(admission, f"10.1.0.{number}", is_idle=False) for number in range(20)]
    assert sum(map(admission.admit, busy)) == 7
    trusted = [Visitor(admission, f"10.2.0.{number}", is_trusted=True) for number in range(5)]
    for one in trusted:
        assert admission.admit(one)
    assert sum(not one.dropped for one in trusted) == 3
    assert not any(one.dropped for one in busy)


def test_a_trusted_newcomer_replaces_a_stranger_first() -> None:
    admission = Admission(Limits(connections=4, reserved_connections=1))
    strangers = [Visitor(admission, f"10.1.0.{number}") for number in range(3)]
    trusted = [Visitor(admission, f"10.2.0.{number}", is_trusted=True) for number in range(2)]
    assert all(map(admission.admit, [*strangers, *trusted]))
    assert sum(bool(one.dropped) for one in strangers) == 1
    assert not any(one.dropped for one in trusted)


def test_where_descriptors_are_scarce_trusted_clients_replace_strangers_at_work() -> None:
    admission = Admission(Limits())
    busy = [Visitor(admission, f"10.1.0.{number}", is_idle=False) for number in range(4)]
    idle = Visitor(admission, "10.1.0.9", idle_since=5.0)
    assert all(map(admission.admit, [*busy, idle]))
    for number in range(2):
        voter = Visitor(admission, f"10.2.0.{number}", is_idle=False, is_trusted=True)
        assert admission.admit(voter, is_scarce=True)
    assert idle.dropped
    assert sum(bool(one.dropped) for one in busy) == 1
    assert not admission.admit(Visitor(admission, "10.3.0.1"), is_scarce=True)


def test_where_descriptors_are_scarce_there_are_no_more_until_half_have_gone() -> None:
    admission = Admission(Limits())
    first = [Visitor(admission, f"10.1.0.{number}", False, number) for number in range(6)]
    assert all(map(admission.admit, first))
    assert admission.admit(Visitor(admission, "10.2.0.1", False, 7.0), is_scarce=True)
    # The descriptor that was freed is a low one; it is no sign that there are more.
    assert admission.admit(Visitor(admission, "10.2.0.2", False, 8.0))
    assert len(admission) == 6
    for one in list(admission)[:4]:
        admission.remove(one)
    for number in range(10):
        assert admission.admit(Visitor(admission, f"10.3.0.{number}"))
    assert len(admission) == 12


def test_where_nothing_may_be_open_nobody_comes_in_but_later() -> None:
    admission = Admission(Limits())
    assert not admission.admit(Visitor(admission), is_scarce=True)
    assert admission.admit(Visitor(admission))
