"""Uses an installed kraftwire and prints the results as one line of JSON.

`clean_installs.py` compares these lines. This runs with the Python of an environment, in a
checkout. It imports only the standard library and installed packages, nothing from the checkout.
"""

from __future__ import annotations

import hashlib
import json
import platform
import subprocess
import sys
import tempfile
from importlib import metadata, util
from pathlib import Path
from typing import Any

KRAFTWIRE = Path(sys.executable).with_name("kraftwire")
STORED = Path("codec_tests/stored")
CAPTURE = "codec_tests/captures/kafka.jsonl"
SPECS = "message_specs/kip_595"
_SECONDS = 120


def main() -> None:
    printed = {
        "kraftwire --help": kraftwire("--help"),
        "capture decode": kraftwire("capture", "decode", CAPTURE),
        "log scan": kraftwire("log", "scan", str(STORED / "broker")),
    }
    if util.find_spec("jinja2"):
        printed["generate"] = generated()
    rows, columns = read_columns()
    if rows:
        printed["decode_batches"] = "\n".join(rows)
    lines = kraftwire("doctor", "-o", "json").splitlines()
    doctor = {row["what"]: row["found"] for row in map(json.loads, lines)}
    files = metadata.files("kraftwire") or []
    found = {
        "python": platform.python_version(),
        "engine": doctor.pop("engine"),
        "columns": columns,
        "doctor's columns": doctor.pop("columns"),
        "rows": len(rows),
        "compiled": sorted(str(file) for file in files if file.suffix in (".so", ".pyd")),
    }
    # A compiler may be installed on the host between two installs.
    del doctor["C compiler"]
    printed["doctor"] = json.dumps(doctor, indent=1)
    print(json.dumps(found | {"printed": printed}))


def kraftwire(*arguments: str) -> str:
    """Run the command line and return its output."""
    command = [str(KRAFTWIRE), *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=_SECONDS, check=True)
    return done.stdout


def generated() -> str:
    """Generate code for a small spec set, which needs the templates and black."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "kip_595"
        kraftwire("generate", "--specs", SPECS, "--out", str(out), "--package", "kip_595")
        files = sorted(out.rglob("*.py"))
        return "\n".join(f"{file.name}\n{file.read_text()}" for file in files)


def read_columns() -> tuple[list[str], str]:
    """Return all stored records and the engine; without pyarrow no records and the error."""
    try:
        from kraftwire.columns import RECORD_COLUMNS, decode_batches, engine
    except ImportError as error:
        return [], str(error)
    from kraftwire.log import FileSource

    rows: list[Any] = []
    for path in sorted(STORED.rglob("*.log")):
        with FileSource(path) as source:
            for chunk in decode_batches(source, RECORD_COLUMNS, control=True):
                rows += [(str(path), row) for row in chunk.to_pylist()]
    digests = [f"{path} {hashlib.sha256(repr(row).encode()).hexdigest()}" for path, row in rows]
    return digests, "python" if engine.NATIVE is None else "native"


if __name__ == "__main__":
    main()
