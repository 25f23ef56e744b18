"""Creates a directory tree with a minimal Debian and the newest Python of a suite."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

from codec_tests.installs.hosts import LONG, NAMESPACE, Failed, Host

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"


def grow_tree(work: Path, suite: str) -> Host:
    """Create a minimal system of a suite, with its newest Python and without a compiler."""
    here = Host("here", sys.executable, work)
    tree = work.parent / "tree"
    targets = here.run("apt-get", "indextargets", "--format", "$(LABEL) $(REPO_URI)")
    mirrors = re.findall(r"^Debian (\S+)$", targets, re.MULTILINE)
    if not mirrors:
        raise Failed("apt knows no Debian mirror to create the tree from")
    program, settings = debootstrap(here)
    command = ("sh", program, "--variant=minbase", suite, tree, mirrors[0])
    here.run(*NAMESPACE, *command, seconds=LONG, **settings)
    share_settings(here, tree)
    host = Host(f"Debian {suite}", "python3", work, tree)
    host.run("apt-get", "update")
    names = host.run("apt-cache", "search", "--names-only", r"^python3\.[0-9]+$")
    newest = max(map(int, re.findall(r"^python3\.(\d+)", names, re.MULTILINE)))
    add_packages(host, f"python3.{newest}-venv", "ca-certificates")
    # The package has replaced the certificates that this machine trusts.
    shutil.copy(CERTIFICATES, tree / CERTIFICATES.lstrip("/"))
    return Host(host.name, f"python3.{newest}", work, tree)


def debootstrap(here: Host) -> tuple[Path, dict[str, str]]:
    """Return the program that creates trees, and its settings; unpack its package if necessary."""
    found = shutil.which("debootstrap")
    if found:
        return Path(found), {}
    unpacked = here.work / "debootstrap"
    unpacked.mkdir()
    script = 'cd "$1" && apt-get download debootstrap && dpkg-deb --extract ./*.deb .'
    here.run("sh", "-c", script, "sh", unpacked)
    settings = {"DEBOOTSTRAP_DIR": str(unpacked / "usr/share/debootstrap")}
    return unpacked / "usr/sbin/debootstrap", settings


def share_settings(here: Host, tree: Path) -> None:
    """Let the tree use the servers and certificates of this machine.

    An outdated mirror is an error to apt, unless this machine's settings allow it.
    """
    settings = here.run("apt-config", "dump", "Acquire")
    lines = re.findall(r"^Acquire::(?:https?::|Retries|Check-).*", settings, re.MULTILINE)
    (tree / "etc/apt/apt.conf.d/99here").write_text("\n".join([*lines, ""]))
    for name in ("/etc/resolv.conf", "/etc/pip.conf", CERTIFICATES):
        if Path(name).exists():
            target = tree / name.lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(name, target)


def add_packages(host: Host, *packages: str) -> None:
    """Install packages into a tree."""
    options = ("--yes", "--no-install-recommends")
    host.run("apt-get", "install", *options, *packages, seconds=LONG)
