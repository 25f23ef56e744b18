"""Builds the native engines with AddressSanitizer and UndefinedBehaviorSanitizer, and fuzzes it.

    python -m codec_tests.fuzz.sanitized --seconds 120

The build is a copy of the packages in `build/sanitized`; the engines in use are not touched.
Python's own allocator is left out, so that every object is an allocation of its own.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[2]
RUNTIME = ROOT / "runtime"
SOURCES = ("kraftwire_wire/_objects.pyx", "kraftwire/columns/_columns.pyx")
BUILD = ROOT / "build" / "sanitized"
FLAGS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer"]
_BUILD_SECONDS = 300


def build(compiler: str) -> None:
    """Copy the packages, and compile their native parts beside them."""
    shutil.rmtree(BUILD, ignore_errors=True)
    shutil.copytree(RUNTIME, BUILD, ignore=shutil.ignore_patterns("*.so", "*.c", "__pycache__"))
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for name in SOURCES:
        source = BUILD / name
        generated, library = source.with_suffix(".c"), source.with_suffix(suffix)
        cython = [sys.executable, "-m", "cython", "-3", str(source), "-o", str(generated)]
        subprocess.run(cython, check=True, timeout=_BUILD_SECONDS)
        command = [compiler, "-shared", "-fPIC", "-g", "-O1", *FLAGS]
        command += [f"-I{sysconfig.get_paths()['include']}", str(generated), "-o", str(library)]
        subprocess.run(command, check=True, timeout=_BUILD_SECONDS)


def sanitizer(compiler: str) -> str:
    """The library that must be loaded before Python, which is not built with it."""
    command = [compiler, "-print-file-name=libasan.so"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


def environment(compiler: str) -> dict[str, str]:
    """What makes Python take the build, and the sanitizers end at the first error."""
    path = [BUILD, ROOT / "generated", ROOT]
    return os.environ | {
        "LD_PRELOAD": sanitizer(compiler),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
        "PYTHONMALLOC": "malloc",
        "KRAFTWIRE_ENGINE": "native",
        # Python leaves memory to the system at its end.
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    }


@click.command()
@click.option("--seconds", type=float, default=600, show_default=True, help="How long.")
@click.option("--seed", type=int, help="Where the random numbers start.")
def main(seconds: float, seed: int | None) -> None:
    """Fuzz the native engines under sanitizers; exit code 0 where they found nothing."""
    compiler = os.environ.get("CC", "gcc")
    build(compiler)
    program = [sys.executable, "-m", "codec_tests.fuzz.native_fuzz", "--seconds", str(seconds)]
    program += ["--seed", str(seed)] if seed is not None else []
    done = subprocess.run(
        program, env=environment(compiler), check=False, timeout=seconds + _BUILD_SECONDS
    )
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
