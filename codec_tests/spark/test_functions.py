"""Types of messages, and captured frames decoded in Spark, beside the codecs themselves."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

from kraftwire.capture.cassette import CassetteReader
from kraftwire.capture.decoding.decoder import decode_frames, pair
from kraftwire_messages.kafka import ApiVersionsRequest, MetadataResponse, registry
from pyspark_kraftwire import decode_rpc, schema_of
from pyspark_kraftwire.decoding.captured_frames import frame_structs

pytestmark = pytest.mark.xdist_group("spark")

CAPTURE = Path(__file__).parents[1] / "captures" / "kafka.jsonl"


def captured_pairs() -> list[tuple[bytes, bytes]]:
    """The requests of the committed capture, each with its response."""
    with CAPTURE.open("rb") as stream:
        exchanges = pair(decode_frames(CassetteReader(stream, CAPTURE.name), registry))
    return [(one.request.frame.data, one.response.frame.data) for one in exchanges if one.response]


@pytest.fixture(scope="module")
def frames(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame(captured_pairs(), "request binary, response binary").cache()


@pytest.mark.slow
def test_requests_are_decoded_as_by_the_codecs(frames: DataFrame) -> None:
    rows = frames.select("request", decode_rpc("request").alias("rpc")).collect()
    assert len(rows) > 100
    for request, rpc in rows:
        header, message = registry.decode_request(bytes(request))
        assert rpc.error is None
        assert (rpc.name, rpc.api_key) == (type(message).__name__, header.request_api_key)
        assert (rpc.correlation_id, rpc.client_id) == (header.correlation_id, header.client_id)
        assert json.loads(rpc.message) == message.to_json(rpc.version, style="java")


def test_responses_are_decoded_with_their_requests(frames: DataFrame) -> None:
    rows = frames.select("*", decode_rpc("request", "response").alias("rpc")).collect()
    for request, response, rpc in rows:
        header, _ = registry.decode_request_header(bytes(request))
        _, message = registry.decode_response(bytes(response), header)
        assert rpc.error is None
        assert rpc.name == type(message).__name__
        assert json.loads(rpc.message) == message.to_json(rpc.version, style="java")


def test_a_named_message_is_a_struct_and_others_are_null(frames: DataFrame) -> None:
    rpc = decode_rpc("request", "response", message=MetadataResponse).alias("rpc")
    rows = frames.select(rpc).select("rpc.name", "rpc.message").collect()
    found = [row.message for row in rows if row.name == "MetadataResponse"]
    assert found
    assert all(message.cluster_id is not None for message in found)
    assert all(row.message is None for row in rows if row.name != "MetadataResponse")


def test_an_unreadable_frame_has_an_error() -> None:
    requests = pa.array([b"", b"\x7f\xff\x00\x00", None, captured_pairs()[0][0][:-1]])
    rows = frame_structs(requests, None, None).to_pylist()
    assert [row["message"] for row in rows] == [None] * 4
    assert "0 bytes are not a request" in rows[0]["error"]
    assert "API key 32767" in rows[1]["error"]
    assert rows[2]["error"] is None
    assert rows[3]["error"]


@pytest.mark.parametrize("name", sorted(registry))
def test_every_message_has_a_type_that_spark_and_arrow_agree_on(name: str) -> None:
    found = schema_of(name)
    message: Any = registry.message(name)
    assert found.fieldNames() == [field.name for field in message.LAYOUT.fields]
    assert from_arrow_type(to_arrow_type(found, timezone="UTC")) == found


def test_schema_of_returns_spark_types() -> None:
    assert schema_of("TopicRecord").simpleString() == "struct<name:string,topic_id:string>"
    assert schema_of(ApiVersionsRequest) == schema_of("ApiVersionsRequest")
    assert schema_of("BrokerRegistrationRequest")["listeners"].dataType.simpleString() == (
        "array<struct<name:string,host:string,port:int,security_protocol:smallint>>"
    )
