"""Answers requests from a recording, without a socket.

`Replay.answer` takes the bytes of a request and returns a `Reply`. Rules:

- a request is matched with a recorded one (`matching`): the nearest unused one, or the earliest of
  several; polling requests get the last answer again;
- an answer is encoded in the version of the live request, with its correlation id, the addresses
  of the replay and the member ids that clients chose (KIP-848);
- ApiVersions in an unknown version is answered as brokers do (KIP-511);
- a request that was not recorded is a `Miss`, reported with the nearest recorded one. The same
  miss is reported once, however often the client repeats the request.

It never raises, whatever the bytes of the request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, NamedTuple

from kraftwire.capture.addresses import AddressOf, addresses_in, rewrite_addresses
from kraftwire.capture.frame import Frame
from kraftwire.capture.replay.matching import BOUND, MatchRules
from kraftwire.capture.replay.miss import Miss, NotRecorded
from kraftwire.capture.replay.record_answers import answer_fetch, answer_produce
from kraftwire.capture.replay.request_parts import join_responses, split_exchange
from kraftwire.capture.replay.search import RequestSearch
from kraftwire.capture.replay.tape import RecordedRequest, Tape
from kraftwire_wire.errors import KraftwireError, UnsupportedVersion
from kraftwire_wire.message import Message, Struct
from kraftwire_wire.numbers import ApiKey, ErrorCode
from kraftwire_wire.registry import Registry

_MAX_MISSES = 100


class Reply(NamedTuple):
    """How to answer a request.

    Fields:
        data: the response; None for no response.
        is_miss: whether to close the connection after the reply.
        wait_s: how long to wait for a better answer; 0 if this is the final one.
        delay_s: how long the recorded broker took.
    """

    data: bytes | None
    is_miss: bool = False
    wait_s: float = 0.0
    delay_s: float = 0.0


class Replay:
    """Answers requests from a recording; `misses` has the requests that it could not answer."""

    def __init__(
        self,
        frames: Iterable[Frame],
        registry: Registry,
        *,
        ignore: Iterable[str] = (),
        answer_misses: bool = False,
    ) -> None:
        """`ignore` has more volatile fields, as `Message.path`; raises `ValueError` for a bad one.

        With `answer_misses`, a miss is answered with an error if the response has a field for one.
        """
        self.tape = Tape(frames, registry)
        self.misses: list[Miss] = []
        self.on_miss: Callable[[Miss], None] = lambda _: None
        """Called with each miss when it first happens."""
        self.answered = 0
        self.missed = 0
        """How many requests were misses, including repeated ones."""
        rules = MatchRules([*ignore, *self.tape.redacted])
        self._search = RequestSearch(self.tape.entries, rules, registry)
        self._registry = registry
        self._answer_misses = answer_misses
        self._live_ids: dict[str, str] = {}

    def addresses(self) -> list[tuple[str, int]]:
        """Return the broker addresses in all answers, each once, in their order."""
        responses = self.tape.responses
        return list(dict.fromkeys(one for each in responses for one in addresses_in(each)))

    def can_read(self, data: bytes) -> bool:
        """Whether bytes can be read as a request to the last byte, and so are not a SASL token."""
        try:
            self._registry.decode_request(data)
        except KraftwireError:
            return False
        return True

    def answer(self, data: bytes, address_of: AddressOf, *, is_last_call: bool = True) -> Reply:
        """Return the reply to a request; with `is_last_call`, `wait_s` is 0."""
        try:
            # Lenient, as brokers are: some clients write bytes after the message.
            header, request = self._registry.decode_request(data, lenient=True)
        except UnsupportedVersion as error:
            return self._refuse_version(data, error)
        except KraftwireError as error:
            return self._miss(Miss("", -1, f"a request that cannot be read: {error}"), None)
        api = type(request).__name__.removesuffix("Request")
        version: int = header.request_api_version
        try:
            response, wait_s, delay_s = self._respond(api, version, request, is_last_call)
            if response is None:
                reply = Reply(None)
            else:
                response = self._localize(response, address_of)
                encoded = self._registry.encode_response(header, response)
                reply = Reply(encoded, wait_s=wait_s, delay_s=delay_s)
        except NotRecorded as stop:
            return self._miss(stop.miss, header)
        except KraftwireError as error:
            reason = f"the recorded answer cannot be encoded in this version: {error}"
            return self._miss(Miss(api, version, reason), header)
        self.answered += not reply.wait_s
        return reply

    def _respond(
        self, api: str, version: int, request: Message, is_last_call: bool
    ) -> tuple[Message | None, float, float]:
        if api == "Produce":
            return answer_produce(self.tape, version, request), 0.0, 0.0
        if api == "Fetch":
            response, wait_s = answer_fetch(self.tape, version, request)
            return response, 0.0 if is_last_call else wait_s, 0.0
        parts = [part for part, _ in split_exchange(api, request, None, self.tape.topic)]
        found: list[RecordedRequest] = []
        taken: set[int] = set()
        for part in parts:
            entry = self._search.find(api, version, part, taken, self._live_ids)
            if entry is None:
                return self._registry.message(f"{api}Response")(), 0.0, 0.0
            found.append(entry)
            taken.add(id(entry))
        for entry, part in zip(found, parts, strict=True):
            entry.is_used = True
            self._bind(entry, part)
        responses = [entry.response for entry in found if entry.response is not None]
        if not responses:
            return None, 0.0, 0.0
        response = join_responses(api, responses, self.tape.topic)
        return response, 0.0, max(entry.seconds for entry in found)

    def _bind(self, entry: RecordedRequest, request: Message) -> None:
        """Remember the id that a client chose, if the recorded client had another one."""
        name = BOUND.get(type(request).__name__)
        if name is None:
            return
        recorded, live = getattr(entry.request, name), getattr(request, name)
        if recorded and live and recorded != live:
            self._live_ids[recorded] = live

    def _localize(self, response: Message, address_of: AddressOf) -> Message:
        """Return a copy of an answer with the addresses and client ids of this run."""
        local = deepcopy(response)
        rewrite_addresses(local, address_of)
        if self._live_ids:
            _rename(local, self._live_ids)
        return local

    def _refuse_version(self, data: bytes, error: UnsupportedVersion) -> Reply:
        header, _ = self._registry.decode_request_header(data, lenient=True)
        known: Any = self.tape.api_versions
        if header.request_api_key != ApiKey.API_VERSIONS or known is None:
            return self._miss(Miss("", -1, str(error)), None)
        refusal = deepcopy(known)
        refusal.error_code = int(ErrorCode.UNSUPPORTED_VERSION)
        return Reply(self._registry.encode_response(header, refusal))

    def _miss(self, miss: Miss, header: Any) -> Reply:
        self.missed += 1
        for known in self.misses:
            if _key(known) == _key(miss):
                known.count += 1
                break
        else:
            if len(self.misses) < _MAX_MISSES:
                self.misses.append(miss)
                self.on_miss(miss)
        error = self._error_response(header) if self._answer_misses and header else None
        return Reply(error, is_miss=error is None)

    def _error_response(self, header: Any) -> bytes | None:
        """Return an UNKNOWN_SERVER_ERROR answer; None if the response has no field for it."""
        response: Any = self._registry.response(header.request_api_key)()
        if not hasattr(response, "error_code"):
            return None
        response.error_code = int(ErrorCode.UNKNOWN_SERVER_ERROR)
        try:
            return self._registry.encode_response(header, response)
        except KraftwireError:
            return None


def _key(miss: Miss) -> tuple[str, int, str, str]:
    return miss.api, miss.version, miss.reason, repr(miss.differences)


def _rename(struct: Struct, names: dict[str, str]) -> None:
    """Replace strings of a message that equal a key of `names`, in place."""
    for each in struct.LAYOUT.fields:
        value: Any = getattr(struct, each.name)
        if isinstance(value, str) and value in names:
            setattr(struct, each.name, names[value])
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, Struct):
                _rename(item, names)
