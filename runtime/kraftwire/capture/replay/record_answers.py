"""Answers Produce and Fetch from the partition logs."""

from __future__ import annotations

from copy import copy
from typing import Any

from kraftwire.capture.replay.miss import Miss, NotRecorded
from kraftwire.capture.replay.partition_logs import (
    Content,
    Partition,
    ProducedRecord,
    ProduceLog,
    contents_of,
)
from kraftwire.capture.replay.tape import Tape
from kraftwire.difference import differences
from kraftwire.log.errors import CorruptBatch

_FETCH_SESSION_ID_NOT_FOUND = 70
_MAX_WAIT_S = 30.0


def answer_produce(tape: Tape, version: int, request: Any) -> Any:
    """Return the response to a ProduceRequest, None with acks=0; raise `NotRecorded`."""
    found: list[tuple[Any, Any, ProduceLog, list[ProducedRecord]]] = []
    for topic in request.topic_data:
        for partition in topic.partition_data:
            where = tape.topic(topic), partition.index
            try:
                contents = contents_of(partition.records)
            except CorruptBatch as error:
                reason = f"the records of {_label(where)} cannot be read: {error}"
                raise NotRecorded(Miss("Produce", version, reason)) from None
            log = tape.produced.get(where)
            written = None if log is None else log.find(contents)
            if log is None or not written:
                raise NotRecorded(_not_produced(version, where, contents, log))
            found.append((topic, partition, log, written))
    for _, _, log, written in found:
        log.use(written)
    if request.acks == 0:
        return None
    return _produced(tape, found)


def _produced(tape: Tape, found: list[tuple[Any, Any, ProduceLog, list[ProducedRecord]]]) -> Any:
    response: Any = tape.registry.message("ProduceResponse")()
    topics: dict[int, Any] = {}
    for asked, partition, _, written in found:
        topic = topics.get(id(asked))
        if topic is None:
            topic = topics[id(asked)] = response.TopicProduceResponse(
                name=asked.name, topic_id=asked.topic_id
            )
            response.responses.append(topic)
        recorded = written[0].answer
        answer = response.PartitionProduceResponse() if recorded is None else copy(recorded)
        answer.index = partition.index
        if written[0].offset is not None:
            answer.base_offset = written[0].offset
        topic.partition_responses.append(answer)
    return response


def _not_produced(
    version: int, where: Partition, contents: list[Content], log: ProduceLog | None
) -> Miss:
    if log is None:
        return Miss("Produce", version, f"nothing was produced to {_label(where)}")
    expected = log.expected
    if expected is None:
        return Miss("Produce", version, f"more was produced to {_label(where)} than was recorded")
    miss = Miss("Produce", version, f"such records were not produced to {_label(where)}")
    for at, content in enumerate(contents):
        path = f"{_label(where)}.records[{at}]"
        if log.find([content]) is None:
            miss.differences += [
                found._replace(path=f"{path}.{found.path}")
                for found in differences(_tree(content), _tree(expected))
            ]
            break
    return miss


def answer_fetch(tape: Tape, version: int, request: Any) -> tuple[Any, float]:
    """Return the response to a FetchRequest, and how long to wait for records if it is empty.

    No fetch sessions are opened, so every request names all partitions. Raise `NotRecorded`.
    """
    response: Any = tape.registry.message("FetchResponse")()
    if request.session_id and request.session_epoch > 0:
        response.error_code = _FETCH_SESSION_ID_NOT_FOUND
        return response, 0.0
    is_empty = True
    for topic in request.topics:
        name = tape.topic(topic)
        answered = response.FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id)
        response.responses.append(answered)
        for partition in topic.partitions:
            answer = _read(tape, version, (name, partition.partition), partition)
            is_plain = not answer.error_code and answer.diverging_epoch is None
            is_empty = is_empty and not answer.records and is_plain
            answer.partition_index = partition.partition
            answered.partitions.append(answer)
    wait_s = min(max(request.max_wait_ms, 0) / 1000, _MAX_WAIT_S) if is_empty else 0.0
    return response, wait_s


def _read(tape: Tape, version: int, where: Partition, asked: Any) -> Any:
    offset = asked.fetch_offset
    log = tape.fetched.get(where)
    if log is not None:
        produced = tape.produced.get(where)
        end = None if produced is None else produced.visible_end()
        answer = log.read(offset, end, asked.partition_max_bytes) or log.empty_answer(offset)
        if answer is not None:
            return copy(answer)
    if where not in tape.partitions:
        raise NotRecorded(Miss("Fetch", version, f"{_label(where)} was never fetched"))
    response: Any = tape.registry.message("FetchResponse")
    return response.PartitionData(records=b"", high_watermark=offset, last_stable_offset=offset)


def _label(where: Partition) -> str:
    return f"{where[0]}-{where[1]}"


def _tree(content: Content) -> dict[str, Any]:
    key, value, headers = content
    return {"key": key, "value": value, "headers": [list(pair) for pair in headers]}
