"""Reads segments with Spark in every way the README describes to ship kraftwire to a cluster.

    python -m codec_tests.installs.shipping

Each way is a row. Its README steps run in a clone, then a job (`spark_job.py`) runs, and all jobs
must print the same. Workers report where they import kraftwire from.

Rules, in addition to those of `clean_installs.py`:

- An environment has only what its way needs, so that workers cannot find anything else.
- If native parts are shipped, executors use them or fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kraftwire.log import find_partitions, read_batches

from codec_tests.installs.clean_installs import ROOT, InstallReport, cloned_host
from codec_tests.installs.hosts import LONG, Failed, Host
from codec_tests.stored_files import BROKER, STORED

JOB = Path(__file__).with_name("spark_job.py")
JAVA_HOME = ROOT / "spark_jobs" / "java_home.py"
NEWEST, OLDEST = "4.3.*", "4.0.*"
CLUSTER = ("--master", "local-cluster[2,1,1024]")
HAVE_NATIVE = ("--conf", "spark.executorEnv.KRAFTWIRE_ENGINE=native")
ON_EXECUTORS = ("pyarrow", "cramjam", "crc32c")
"""Packages of executors, besides pyspark, if a zip of Python files is shipped."""
ON_EXECUTOR = Path("pyspark/work")
"""The folders of a local cluster's executors are in here."""
NOT_FOUND = "DATA_SOURCE_NOT_FOUND"
_SECONDS = 300
_NOISE = re.compile(r"\s+at |\d\d/\d\d/\d\d \S+ (INFO|WARN)|\s+\.\.\. \d+ more")

Command = tuple[str | Path, ...]
Settings = Mapping[str, str | Path]


class Shipping:
    """The ways to ship kraftwire; each returns a remark for its row or raises `Failed`."""

    def __init__(self, host: Host, report: InstallReport) -> None:
        self._host = host
        self._report = report
        self._made: dict[str, Path] = {}
        self._records = stored_records()

    def build(self) -> str:
        """Build the package with its native parts, as a wheel and as a zip."""
        host = self._host
        pip = host.programs("tools") / "pip"
        host.run(pip, "wheel", "--no-deps", "--wheel-dir", "dist", ".", seconds=LONG)
        (wheel,) = (host.clone / "dist").glob("*.whl")
        shutil.copy(wheel, host.clone / "kraftwire.zip")
        return wheel.name

    def local(self) -> str:
        """An environment with everything, selected by PYSPARK_PYTHON."""
        programs = self._installed()
        python = programs / "python"
        return self._done("local", (python,), {"PYSPARK_PYTHON": python}, of=programs)

    def activated(self) -> str:
        """The same environment, first on PATH."""
        programs = self._installed()
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return self._done("activated", (programs / "python",), {"PATH": path}, of=programs)

    def another_python(self) -> str:
        """If neither is set, workers run a Python without kraftwire."""
        path = os.pathsep.join([str(self._spark_alone()), os.environ["PATH"]])
        try:
            self._job((self._installed() / "python",), {"PATH": path})
        except Failed as error:
            if NOT_FOUND in str(error):
                return f"{NOT_FOUND}, as the README says"
            raise
        raise Failed("the job ran, though its workers had no kraftwire")

    def java_of_setup(self) -> str:
        """A machine without Java, except the one that `make setup` installs."""
        programs = self._installed()
        path = str(path_without_java(self._host.work))
        printed = self._host.run(
            programs / "python", JAVA_HOME, seconds=LONG, PATH=path, JAVA_HOME=""
        )
        home = programs.parent / "java"
        if f"JAVA_HOME={home}" not in printed:
            raise Failed(f"no Java was made: {printed!r}")
        settings: Settings = {
            "PATH": path,
            "JAVA_HOME": home,
            "PYSPARK_PYTHON": programs / "python",
        }
        return self._done("setup's Java", (programs / "python",), settings, of=programs)

    def local_cluster(self) -> str:
        """The environment of `local`, with executors in their own processes."""
        programs = self._installed()
        submit = self._submit(programs)
        python = programs / "python"
        return self._done("cluster", submit, {"PYSPARK_PYTHON": python}, of=programs)

    def packed(self) -> str:
        """An environment that the driver and every executor unpack."""
        host = self._host
        packages = (f"{self._wheel()}[parquet]", "venv-pack")
        programs = self._programs("packed", *packages)
        archive = "environment.tar.gz"
        host.run(programs / "venv-pack", "-q", "-o", archive, VIRTUAL_ENV=str(programs.parent))
        host.run("mkdir", "environment")
        host.run("tar", "-xzf", archive, "-C", "environment")
        options = ("--archives", f"{archive}#environment", *HAVE_NATIVE)
        submit = self._submit(self._spark_alone(), *options)
        python = "environment/bin/python"
        settings: Settings = {"PYSPARK_PYTHON": f"./{python}", "SPARK_HOME": self._spark_home()}
        return self._done("packed", submit, settings, of=ON_EXECUTOR)

    def folder(self) -> str:
        """A folder with kraftwire and its dependencies, which every executor unpacks."""
        host = self._host
        pip = host.programs("tools") / "pip"
        what = (self._wheel(), "cramjam", "crc32c")
        host.run(pip, "install", "--no-deps", "--target", "parts", *what, seconds=LONG)
        host.run(sys.executable, "-m", "zipfile", "-c", "parts.zip", *parts_of(host.clone))
        options = ("--archives", "parts.zip#parts", "--conf", "spark.executorEnv.PYTHONPATH=parts")
        programs = self._programs("arrow", f"pyspark=={NEWEST}", "pyarrow")
        submit = self._submit(programs, *options, *HAVE_NATIVE)
        settings: Settings = {"PYTHONPATH": "parts", "PYSPARK_PYTHON": programs / "python"}
        return self._done("folder", submit, settings, of=ON_EXECUTOR)

    def py_files(self) -> str:
        """A zip of Python files, named when the job is submitted."""
        programs = self._spark_alone()
        submit = self._submit(programs, "--py-files", "kraftwire.zip")
        return self._zipped("py-files", programs, submit, "--register")

    def add_py_file(self) -> str:
        """A zip of Python files that the job adds itself."""
        programs = self._spark_alone()
        submit = self._submit(programs)
        return self._zipped("addPyFile", programs, submit, "--zip", "kraftwire.zip")

    def connect_zip(self) -> str:
        """A zip of Python files that a Connect client uploads to a server without kraftwire."""
        programs = self._programs("connect", f"pyspark[connect]=={NEWEST}", *ON_EXECUTORS)
        options = ("--remote", "local[2]", "--zip", "kraftwire.zip")
        return self._zipped("Connect, zip", programs, (programs / "python",), *options)

    def connect_installed(self) -> str:
        """A Connect server with kraftwire installed; the client uploads nothing."""
        packages = (f"pyspark[connect]=={NEWEST}", f"{self._wheel()}[spark]")
        programs = self._programs("connect installed", *packages)
        python = programs / "python"
        settings = {"PYSPARK_PYTHON": python}
        return self._done("Connect", (python,), settings, "--remote", "local[2]", of=programs)

    def oldest(self) -> str:
        """The oldest supported pyspark."""
        programs = self._programs("oldest", f"pyspark=={OLDEST}", f"{self._wheel()}[spark]")
        python = programs / "python"
        return self._done("oldest", (python,), {"PYSPARK_PYTHON": python}, of=programs)

    def _wheel(self) -> Path:
        (wheel,) = (self._host.clone / "dist").glob("*.whl")
        return wheel

    def _programs(self, label: str, *packages: str) -> Path:
        if label not in self._made:
            programs = self._host.programs(label)
            self._host.run(programs / "pip", "install", *packages, seconds=LONG)
            self._made[label] = programs
        return self._made[label]

    def _installed(self) -> Path:
        return self._programs("all", f"{self._wheel()}[spark]", f"pyspark=={NEWEST}")

    def _spark_alone(self) -> Path:
        return self._programs("spark alone", f"pyspark=={NEWEST}", *ON_EXECUTORS)

    def _spark_home(self) -> Path:
        (home,) = self._spark_alone().parent.glob("lib/python3*/site-packages/pyspark")
        return home

    def _submit(self, programs: Path, *options: str) -> Command:
        return (programs / "spark-submit", *CLUSTER, *options)

    def _zipped(self, name: str, programs: Path, command: Command, *options: str) -> str:
        """Run a way that ships only Python; workers must import it from the zip."""
        settings = {"PYSPARK_PYTHON": programs / "python"}
        of = Path("kraftwire.zip")
        return self._done(name, command, settings, *options, engine="python", of=of)

    def _done(
        self,
        name: str,
        command: Command,
        settings: Settings,
        *options: str,
        of: Path,
        engine: str = "native",
    ) -> str:
        """Run the job; workers must import kraftwire from a path that contains `of`."""
        found = self._job(command, settings, *options)
        for key, text in found["printed"].items():
            self._report.same(key, text, name)
        if found["count"] != self._records:
            raise Failed(f"{found['count']} records, and {self._records} are stored")
        # An environment's packages are next to its programs.
        folder = f"{of.parent if of.name == 'bin' else of}/"
        wrong = [one for one in found["workers"] if not one.startswith(engine) or folder not in one]
        if wrong or not found["workers"]:
            raise Failed("\n".join([f"workers are not {engine} out of {folder}:", *wrong]))
        return f"pyspark {found['pyspark']}, engine {engine}, {found['count']} records"

    def _job(self, command: Command, settings: Settings, *options: str) -> dict[str, Any]:
        """Run the job and return what it prints."""
        texts = {key: str(value) for key, value in settings.items()}
        texts = {"SPARK_LOCAL_IP": "127.0.0.1"} | texts
        try:
            output = self._host.run(*command, JOB, STORED, *options, seconds=_SECONDS, **texts)
        except Failed as error:
            # Stack frames and log lines of the JVM would hide the reason.
            lines = str(error).splitlines()
            raise Failed("\n".join(line for line in lines if not _NOISE.match(line))) from None
        (line,) = [line for line in output.splitlines() if line.startswith('{"pyspark"')]
        found: dict[str, Any] = json.loads(line)
        return found


def parts_of(clone: Path) -> list[str]:
    return sorted(f"parts/{entry.name}" for entry in (clone / "parts").iterdir())


def stored_records() -> int:
    count = 0
    for partition in find_partitions([BROKER]):
        for segment in partition.segments:
            with segment.open() as source:
                batches = [batch for batch in read_batches(source) if not batch.header.is_control]
                count += sum(len(list(batch.records)) for batch in batches)
    return count


def path_without_java(work: Path) -> Path:
    """Return a folder with links to all programs on PATH except Java's."""
    folder = work / "no-java"
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            link = folder / program.name
            if not program.name.startswith("java") and not link.is_symlink():
                link.symlink_to(program)
    return folder


def rows_of(ways: Shipping) -> dict[str, Callable[[], str]]:
    """Return the rows of the table in order; later rows need what the first one builds."""
    return {
        "wheel with native parts": ways.build,
        "local, PYSPARK_PYTHON": ways.local,
        "local, environment activated": ways.activated,
        "local, neither": ways.another_python,
        "local, Java of make setup": ways.java_of_setup,
        "local-cluster": ways.local_cluster,
        "packed environment": ways.packed,
        "packed folder": ways.folder,
        "zip, --py-files": ways.py_files,
        "zip, addPyFile": ways.add_py_file,
        "Connect, zip by addArtifacts": ways.connect_zip,
        "Connect, installed on the server": ways.connect_installed,
        "oldest pyspark": ways.oldest,
    }


@click.command()
@click.option("--only", default="", help="The rows with this in their names, and the first.")
@click.option("--python", default=sys.executable, help="The Python of the environments.")
def main(only: str, python: str) -> None:
    """Ship kraftwire in every way; exit with 0 if all jobs read the stored files."""
    started = time.monotonic()
    report = InstallReport()
    with cloned_host(python) as host:
        for number, (name, way) in enumerate(rows_of(Shipping(host, report)).items()):
            if number == 0 or only in name:
                report.row(name, way)
    click.echo(f"{time.monotonic() - started:.0f} s")
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
