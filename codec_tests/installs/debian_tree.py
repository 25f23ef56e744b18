"""The tree of another system: a minimal Debian with the newest Python of a suite."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from codec_tests.installs.places import LONG, NAMESPACE, Failed, Place

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def grow_tree(work: Path, suite: str) -> Place:
    """A minimal system of a suite, with its newest Python and without a compiler."""
    here = Place("here", sys.executable, work)
    tree = work.parent / "tree"
    targets = here.run("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)")
    mirrors = re.findall(r"^Debian (\S+)$", targets, re.MULTILINE)
    if not mirrors:
        raise Failed("apt has no mirror of Debian to take the tree from")
    program, settings = debootstrap(here)
    command = ("sh", program, "--variant=minbase", suite, tree, mirrors[0])
    here.run(*NAMESPACE, *command, seconds=LONG, **settings)
    share_settings(here, tree)
    place = Place(f"Debian {suite}", "python3", work, tree)
    place.run("apt-get", "update")
    names = place.run("apt-cache", "search", "--names-only", r"^python3\.[0-9]+$")
    newest = max(map(int, re.findall(r"^python3\.(\d+)", names, re.MULTILINE)))
    add_packages(place, f"python3.{newest}-venv", "ca-certificates")
    # The package has written its own certificates over those that the machine trusts.
    shutil.copy(CERTIFICATES, tree / CERTIFICATES.lstrip("/"))
    return Place(place.name, f"python3.{newest}", work, tree)


def debootstrap(here: Place) -> tuple[Path, dict[str, str]]:
    """The program that makes trees, and its settings; unpacked from its package if need be."""
    found = shutil.which("debootstrap")
    if found:
        return Path(found), {}
    unpacked = here.work / "debootstrap"
    unpacked.mkdir()
    script = 'cd "$1" && apt-get download debootstrap && dpkg-deb --extract ./*.deb .'
    here.run("sh", "-c", script, "sh", unpacked)
    settings = {"DEBOOTSTRAP_DIR": str(unpacked / "usr/share/debootstrap")}
    return unpacked / "usr/sbin/debootstrap", settings


def share_settings(here: Place, tree: Path) -> None:
    """Let the tree find and trust the servers that this machine finds and trusts.

    A mirror that stands still is out of date to apt, unless the machine is set up for it.
    """
    settings = here.run("apt-config", "dump", "Acquire")
    lines = re.findall(r"^Acquire::(?:https?::|Retries|Check-).*", settings, re.MULTILINE)
    (tree / "etc/apt/apt.conf.d/99here").write_text("\n".join([*lines, ""]))
    for name in ("/etc/resolv.conf", "/etc/pip.conf", CERTIFICATES):
        if Path(name).exists():
            target = tree / name.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, target)


def add_packages(place: Place, *packages: str) -> None:
    """Install packages into a tree."""
    options = ("--yes", "--no-install-recommends")
    place.run("apt-get", "install", *options, *packages, seconds=LONG)
