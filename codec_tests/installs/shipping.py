"""Reads segments with Spark in every way that the README ships kraftwire to a cluster.

    python -m codec_tests.installs.shipping

Each way is a row: what the README says is done in a clone, a job (`spark_job.py`) runs, and
all jobs must print the same. The workers tell where they have kraftwire from.

Rules, beside those of `clean_installs.py`:
- an environment has what its way needs and no more, so that nothing else can be found;
- where native parts are shipped, executors have them or fail.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from kraftwire.log import find_partitions, read_batches

from codec_tests.installs.clean_installs import ROOT, Report
from codec_tests.installs.places import LONG, SHORT, Failed, Place
from codec_tests.stored_files import BROKER, STORED

JOB = Path(__file__).with_name("spark_job.py")
JAVA_HOME = ROOT / "spark_jobs" / "java_home.py"
NEWEST, OLDEST = "4.3.*", "4.0.*"
CLUSTER = ("--master", "local-cluster[2,1,1024]")
HAVE_NATIVE = ("--conf", "spark.executorEnv.KRAFTWIRE_ENGINE=native")
ON_EXECUTORS = ("pyarrow", "cramjam", "crc32c")
"""What executors have beside pyspark where a zip of Python is shipped."""
ON_EXECUTOR = Path("pyspark/work")
"""Below this an executor of a local cluster has its folder."""
NOT_FOUND = "DATA_SOURCE_NOT_FOUND"
_SECONDS = 300
_NOISE = re.compile(r"\s+at |\d\d/\d\d/\d\d \S+ (INFO|WARN)|\s+\.\.\. \d+ more")

Command = tuple[str | Path, ...]
Settings = Mapping[str, str | Path]


class Shipping:
    """The ways; each says what came of it, and raises `Failed` where that is not as it must be."""

    def __init__(self, place: Place, report: Report) -> None:
        self._place = place
        self._report = report
        self._made: dict[str, Path] = {}
        self._records = stored_records()

    def build(self) -> str:
        """The package with its native parts, as a wheel and as a zip."""
        place = self._place
        pip = place.programs("tools") / "pip"
        place.run(pip, "wheel", "--no-deps", "--wheel-dir", "dist", ".", seconds=LONG)
        (wheel,) = (place.clone / "dist").glob("*.whl")
        shutil.copy(wheel, place.clone / "kraftwire.zip")
        return wheel.name

    def local(self) -> str:
        """An environment with all in it, named by PYSPARK_PYTHON."""
        programs = self._installed()
        python = programs / "python"
        return self._done("local", (python,), {"PYSPARK_PYTHON": python}, of=programs)

    def activated(self) -> str:
        """The same environment, first on PATH."""
        programs = self._installed()
        path = os.pathsep.join([str(programs), os.environ["PATH"]])
        return self._done("activated", (programs / "python",), {"PATH": path}, of=programs)

    def another_python(self) -> str:
        """Without either, workers are of a Python that has no kraftwire."""
        path = os.pathsep.join([str(self._spark_alone()), os.environ["PATH"]])
        try:
            self._job((self._installed() / "python",), {"PATH": path})
        except Failed as error:
            if NOT_FOUND in str(error):
                return f"{NOT_FOUND}, as the README says"
            raise
        raise Failed("the job ran, though its workers had no kraftwire")

    def java_of_setup(self) -> str:
        """No Java on this machine, but the one that `make setup` installs then."""
        programs = self._installed()
        path = str(path_without_java(self._place.work))
        said = self._place.run(
            programs / "python", JAVA_HOME, seconds=LONG, PATH=path, JAVA_HOME=""
        )
        home = programs.parent / "java"
        if f"JAVA_HOME={home}" not in said:
            raise Failed(f"no Java was made: {said!r}")
        settings: Settings = {
            "PATH": path,
            "JAVA_HOME": home,
            "PYSPARK_PYTHON": programs / "python",
        }
        return self._done("setup's Java", (programs / "python",), settings, of=programs)

    def local_cluster(self) -> str:
        """The environment of `local`, with executors that are processes of their own."""
        programs = self._installed()
        submit = self._submit(programs)
        python = programs / "python"
        return self._done("cluster", submit, {"PYSPARK_PYTHON": python}, of=programs)

    def packed(self) -> str:
        """An environment that is unpacked beside the driver and by every executor."""
        place = self._place
        packages = (f"{self._wheel()}[parquet]", "venv-pack")
        programs = self._programs("packed", *packages)
        archive = "environment.tar.gz"
        place.run(programs / "venv-pack", "-q", "-o", archive, VIRTUAL_ENV=str(programs.parent))
        place.run("mkdir", "environment")
        place.run("tar", "-xzf", archive, "-C", "environment")
        options = ("--archives", f"{archive}#environment", *HAVE_NATIVE)
        submit = self._submit(self._spark_alone(), *options)
        python = "environment/bin/python"
        settings: Settings = {"PYSPARK_PYTHON": f"./{python}", "SPARK_HOME": self._spark_home()}
        return self._done("packed", submit, settings, of=ON_EXECUTOR)

    def folder(self) -> str:
        """kraftwire and what it needs as a folder, unpacked by every executor."""
        place = self._place
        pip = place.programs("tools") / "pip"
        what = (self._wheel(), "cramjam", "crc32c")
        place.run(pip, "install", "--no-deps", "--target", "parts", *what, seconds=LONG)
        place.run(sys.executable, "-m", "zipfile", "-c", "parts.zip", *parts_of(place.clone))
        options = ("--archives", "parts.zip#parts", "--conf", "spark.executorEnv.PYTHONPATH=parts")
        programs = self._programs("arrow", f"pyspark=={NEWEST}", "pyarrow")
        submit = self._submit(programs, *options, *HAVE_NATIVE)
        settings: Settings = {"PYTHONPATH": "parts", "PYSPARK_PYTHON": programs / "python"}
        return self._done("folder", submit, settings, of=ON_EXECUTOR)

    def py_files(self) -> str:
        """A zip of Python named when the job is submitted."""
        programs = self._spark_alone()
        submit = self._submit(programs, "--py-files", "kraftwire.zip")
        return self._zipped("py-files", programs, submit, "--register")

    def add_py_file(self) -> str:
        """A zip of Python that the job itself hands over."""
        programs = self._spark_alone()
        submit = self._submit(programs)
        return self._zipped("addPyFile", programs, submit, "--zip", "kraftwire.zip")

    def connect_zip(self) -> str:
        """A zip of Python handed over a connection, to a server without kraftwire."""
        programs = self._programs("connect", f"pyspark[connect]=={NEWEST}", *ON_EXECUTORS)
        options = ("--remote", "local[2]", "--zip", "kraftwire.zip")
        return self._zipped("Connect, zip", programs, (programs / "python",), *options)

    def connect_installed(self) -> str:
        """A server that has kraftwire; the client hands nothing over."""
        packages = (f"pyspark[connect]=={NEWEST}", f"{self._wheel()}[spark]")
        programs = self._programs("connect installed", *packages)
        python = programs / "python"
        settings = {"PYSPARK_PYTHON": python}
        return self._done("Connect", (python,), settings, "--remote", "local[2]", of=programs)

    def oldest(self) -> str:
        """The oldest pyspark that there is support for."""
        programs = self._programs("oldest", f"pyspark=={OLDEST}", f"{self._wheel()}[spark]")
        python = programs / "python"
        return self._done("oldest", (python,), {"PYSPARK_PYTHON": python}, of=programs)

    def _wheel(self) -> Path:
        (wheel,) = (self._place.clone / "dist").glob("*.whl")
        return wheel

    def _programs(self, label: str, *packages: str) -> Path:
        if label not in self._made:
            programs = self._place.programs(label)
            self._place.run(programs / "pip", "install", *packages, seconds=LONG)
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
        """A way that ships Python alone: it comes from the zip and does the same."""
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
        """Run the job; `of` is in the path from which workers must have kraftwire."""
        found = self._job(command, settings, *options)
        for key, text in found["printed"].items():
            self._report.same(key, text, name)
        if found["count"] != self._records:
            raise Failed(f"{found['count']} records, and {self._records} are stored")
        # An environment's programs lie beside its packages.
        folder = f"{of.parent if of.name == 'bin' else of}/"
        wrong = [one for one in found["workers"] if not one.startswith(engine) or folder not in one]
        if wrong or not found["workers"]:
            raise Failed("\n".join([f"workers are not {engine} out of {folder}:", *wrong]))
        return f"pyspark {found['pyspark']}, engine {engine}, {found['count']} records"

    def _job(self, command: Command, settings: Settings, *options: str) -> dict[str, Any]:
        """What the job prints, started by a command and with options of its own."""
        texts = {key: str(value) for key, value in settings.items()}
        texts = {"SPARK_LOCAL_IP": "127.0.0.1"} | texts
        try:
            output = self._place.run(*command, JOB, STORED, *options, seconds=_SECONDS, **texts)
        except Failed as error:
            # The JVM's frames and its chatter would hide what happened.
            lines = str(error).splitlines()
            raise Failed("\n".join(line for line in lines if not _NOISE.match(line))) from None
        (line,) = [line for line in output.splitlines() if line.startswith('{"pyspark"')]
        found: dict[str, Any] = json.loads(line)
        return found


def parts_of(clone: Path) -> list[str]:
    """What is in the folder `parts`."""
    return sorted(f"parts/{entry.name}" for entry in (clone / "parts").iterdir())


def stored_records() -> int:
    """How many records the stored broker has, counted without columns and without Spark."""
    count = 0
    for partition in find_partitions([BROKER]):
        for segment in partition.segments:
            with segment.open() as source:
                batches = [batch for batch in read_batches(source) if not batch.header.is_control]
                count += sum(len(list(batch.records)) for batch in batches)
    return count


def path_without_java(work: Path) -> Path:
    """A folder with the programs of PATH, but for those of Java."""
    folder = work / "no-java"
    folder.mkdir()
    for directory in os.environ["PATH"].split(os.pathsep):
        for program in Path(directory).glob("*"):
            place = folder / program.name
            if not program.name.startswith("java") and not place.is_symlink():
                place.symlink_to(program)
    return folder


def rows_of(ways: Shipping) -> dict[str, Callable[[], str]]:
    """The rows of the table, in their order; later ones need what the first has built."""
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
    """Ship kraftwire in every way; exit code 0 where all of them read what is stored."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was made is removed
    started = time.monotonic()
    report = Report()
    with tempfile.TemporaryDirectory(prefix="kraftwire-shipping-") as directory:
        work = Path(directory) / "work"
        (work / "tmp").mkdir(parents=True)
        place = Place("here", python, work)
        clone = ["git", "clone", "--quiet", "--depth", "1", ROOT.as_uri(), str(place.clone)]
        subprocess.run(clone, check=True, timeout=SHORT)
        for number, (name, way) in enumerate(rows_of(Shipping(place, report)).items()):
            if number == 0 or only in name:
                report.row(name, way)
    click.echo(f"{time.monotonic() - started:.0f} s")
    sys.exit(report.failed)


if __name__ == "__main__":
    main()
