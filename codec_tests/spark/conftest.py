"""One Spark session for the tests of this folder; they run on one worker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from codec_tests.spark_session import SHORT_LIVED, local_spark


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark on two cores of this machine."""
    with local_spark("kraftwire tests", {"spark.driver.extraJavaOptions": SHORT_LIVED}) as session:
        yield session
