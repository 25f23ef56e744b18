"""Git repositories of strangers: PATH@REVISION reads objects, starts no program and ends."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path

import pytest

from kraftwire_generator.importer import git_process
from kraftwire_generator.importer import sources as import_sources
from kraftwire_generator.importer.git_process import GitError, run_git
from kraftwire_generator.importer.sources import GitRevision, SourceError, read_source

from codec_tests.generator_commands import run_generator as run
from codec_tests.generator_commands import run_git as git
from codec_tests.spec_files import message_spec, write_set

SPEC = "clients/src/main/resources/common/message/Beacon.json"


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that a command of the repository would create."""
    return tmp_path / "marker"


@pytest.fixture
def command(tmp_path: Path, marker: Path) -> str:
    """A program of the repository that leaves the marker; paths in settings take no arguments."""
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch '{marker}'\nexit 1\n")
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A source tree with one message, committed and tagged 9.2.0."""
    root = tmp_path / "checkout"
    (root / SPEC).parent.mkdir(parents=True)
    write_set((root / SPEC).parent, message_spec("Beacon"))
    (root / "gradle.properties").write_text("version=9.2.0\n")
    git(root, "init", "-q", "-b", "trunk")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    git(root, "tag", "9.2.0")
    return root


def loose(repository: Path, name: str) -> Path:
    found = repository / "objects" / name[:2] / name[2:]
    return found if found.exists() else repository / ".git" / "objects" / name[:2] / name[2:]


def lose(repository: Path, path: str) -> None:
    """Remove the object of a file, so that git would fetch it from a promisor remote."""
    loose(repository, git(repository, "rev-parse", f"HEAD:{path}").strip()).unlink()


def bare_with_promisor(checkout: Path, root: Path, command: str) -> Path:
    """A folder that is itself a bare repository, whose missing objects a command brings."""
    git(checkout, "clone", "-q", "--bare", str(checkout), str(root))
    for name, value in (
        ("core.repositoryformatversion", "1"),
        ("extensions.partialClone", "origin"),
        ("remote.origin.promisor", "true"),
        ("remote.origin.uploadpack", command),
    ):
        git(root, "config", name, value)
    return root


SUBCOMMANDS: list[Callable[[str, Path], tuple[str, ...]]] = [
    lambda source, target: ("specs", "import", source, "--out", str(target)),
    lambda source, target: ("specs", "diff", source, source),
    lambda source, target: ("evolve", source, source),
]


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
@pytest.mark.parametrize("name", ["specs", "specs.git"])
def test_a_promisor_remote_is_not_asked(
    tmp_path: Path,
    checkout: Path,
    marker: Path,
    command: str,
    name: str,
    subcommand: Callable[[str, Path], tuple[str, ...]],
) -> None:
    evil = bare_with_promisor(checkout, tmp_path / name, command)
    lose(evil, SPEC)
    result = run(*subcommand(f"{evil}@9.2.0", tmp_path / "target"))
    assert not marker.exists()
    assert result.exit_code == 2
    assert str(evil) in result.stderr
    assert ("is missing" in result.stderr) == (name == "specs.git")


def test_a_missing_commit_or_tree_is_not_fetched(
    tmp_path: Path, checkout: Path, marker: Path, command: str
) -> None:
    for wanted in ("9.2.0", "9.2.0^{tree}"):
        evil = bare_with_promisor(checkout, tmp_path / f"{len(wanted)}.git", command)
        loose(evil, git(evil, "rev-parse", wanted).strip()).unlink()
        with pytest.raises(SourceError, match="git cannot read this revision"):
            read_source(f"{evil}@9.2.0")
        assert not marker.exists()


@pytest.mark.parametrize(
    "name",
    [
        "core.fsmonitor",
        "core.sshCommand",
        "core.pager",
        "core.editor",
        "core.alternateRefsCommand",
        "core.gitProxy",
        "diff.external",
        "diff.json.textconv",
        "diff.json.command",
        "filter.json.smudge",
        "filter.json.process",
        "alias.rev-parse",
        "alias.ls-tree",
        "alias.cat-file",
        "pager.ls-tree",
        "pager.cat-file",
        "credential.helper",
        "gpg.program",
        "uploadpack.packObjectsHook",
        "include.path",
        "includeIf.gitdir:/.path",
    ],
)
def test_settings_of_the_repository_run_nothing(
    tmp_path: Path, checkout: Path, marker: Path, command: str, name: str
) -> None:
    value = f"!{command}" if name.startswith("alias.") else command
    if name.startswith("include"):
        included = tmp_path / "included"
        included.write_text(f"[core]\n\tfsmonitor = {command}\n\tpager = {command}\n")
        value = str(included)
    (checkout / ".gitattributes").write_text("*.json diff=json filter=json text working\n")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "attributes")
    git(checkout, "config", name, value)
    source = read_source(f"{checkout}@HEAD")
    assert [spec.text for spec in source.specs] == [(checkout / SPEC).read_text()]
    assert not marker.exists()


def test_hooks_run_nothing(checkout: Path, marker: Path, command: str) -> None:
    hooks = checkout / "hooks"
    hooks.mkdir()
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(command, hooks / name)
    git(checkout, "config", "core.hooksPath", str(hooks))
    assert read_source(f"{checkout}@9.2.0").release == "9.2.0"
    assert not marker.exists()


@pytest.mark.parametrize("scope", ["global", "system", "count", "parameters", "home"])
def test_settings_of_the_user_and_the_environment_run_nothing(
    tmp_path: Path,
    checkout: Path,
    marker: Path,
    command: str,
    scope: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = tmp_path / ".gitconfig"
    settings.write_text(f"[core]\n\tfsmonitor = {command}\n\tsshCommand = {command}\n")
    variables = {
        "global": {"GIT_CONFIG_GLOBAL": str(settings)},
        "system": {"GIT_CONFIG_SYSTEM": str(settings)},
        "count": {
            "GIT_CONFIG_COUNT": "1",
            "GIT_CONFIG_KEY_0": "trace2.eventTarget",
            "GIT_CONFIG_VALUE_0": str(marker),
        },
        "parameters": {"GIT_CONFIG_PARAMETERS": f"'trace2.eventTarget={marker}'"},
        "home": {"HOME": str(tmp_path), "GIT_TRACE": str(marker)},
    }
    for name, value in variables[scope].items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "elsewhere"))
    monkeypatch.setenv("GIT_EXEC_PATH", str(tmp_path))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", command)
    monkeypatch.setenv("GIT_PAGER", command)
    assert read_source(f"{checkout}@9.2.0").release == "9.2.0"
    assert not marker.exists()


def test_a_bare_repository_within_a_checkout_does_not_stand_in_for_it(checkout: Path) -> None:
    inside = checkout / "specs"
    git(checkout, "clone", "-q", "--bare", str(checkout), str(inside))
    with pytest.raises(SourceError, match="bare repository is read only if"):
        read_source(f"{inside}@9.2.0")
    for name in ("specs.git/objects", "specs.git"):  # its name alone is not enough
        (checkout / name).mkdir(parents=True, exist_ok=True)
        revision = GitRevision("x", str(checkout / name), "9.2.0")
        assert revision.prefix() == f"{name}/"


def test_replacements_and_grafts_do_not_change_a_revision(checkout: Path) -> None:
    old = (checkout / SPEC).read_text()
    first = git(checkout, "rev-parse", f"HEAD:{SPEC}").strip()
    other = git(checkout, "hash-object", "-w", "--stdin", stdin=b"{}").strip()
    git(checkout, "replace", first, other)
    assert [spec.text for spec in read_source(f"{checkout}@9.2.0").specs] == [old]
    git(checkout, "commit", "-q", "--allow-empty", "-m", "two")
    head, before = git(checkout, "rev-list", "HEAD").split()
    orphan = git(checkout, "commit-tree", "-m", "x", f"{head}^{{tree}}").strip()
    (checkout / ".git/info/grafts").write_text(f"{head} {orphan}\n")
    assert run_git(checkout, ["rev-parse", "HEAD~1"], largest_output=99).decode().strip() == before


def test_alternates_lend_objects_and_run_nothing(
    tmp_path: Path, checkout: Path, marker: Path, command: str
) -> None:
    git(checkout, "clone", "-q", "--shared", str(checkout), str(tmp_path / "second"))
    git(checkout, "config", "core.fsmonitor", command)
    git(tmp_path / "second", "config", "core.alternateRefsCommand", command)
    assert read_source(f"{tmp_path / 'second'}@9.2.0").release == "9.2.0"
    alternates = tmp_path / "second/.git/objects/info/alternates"
    alternates.write_text(f"{alternates.parent.parent}\n/dev/stdin\n{tmp_path}/none\n")
    with pytest.raises(SourceError, match="git cannot read this revision"):
        read_source(f"{tmp_path / 'second'}@9.2.0")
    assert not marker.exists()


# -- owners ----------------------------------------------------------------------------------


def test_a_repository_of_another_user_is_read_if_the_user_trusts_it(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = shutil.which("git")
    shim = tmp_path / "bin" / "git"
    shim.parent.mkdir()
    # git's own switch for tests; the variable itself would not reach it.
    shim.write_text(f'#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec {real} "$@"\n')
    shim.chmod(0o755)
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{shim.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    with pytest.raises(SourceError, match="dubious ownership"):
        read_source(f"{checkout}@9.2.0")
    with (checkout / ".git/config").open("a") as settings:  # a repository cannot vouch for itself
        settings.write("[safe]\n\tdirectory = *\n")
    with pytest.raises(SourceError, match="dubious ownership"):
        read_source(f"{checkout}@9.2.0")
    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = /a\n\tdirectory = {checkout}\n")
    assert read_source(f"{checkout}@9.2.0").release == "9.2.0"


# -- objects that are missing, damaged or too large --------------------------------------------


def test_a_missing_object_is_named(checkout: Path) -> None:
    lose(checkout, SPEC)
    with pytest.raises(SourceError, match=f"{SPEC}: git object [0-9a-f]{{40}} is missing"):
        read_source(f"{checkout}@9.2.0")


def test_an_object_that_is_not_needed_may_be_missing(checkout: Path) -> None:
    (checkout / "Big.java").write_text("x")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "two")
    lose(checkout, "Big.java")
    assert len(read_source(f"{checkout}@HEAD").specs) == 1


def test_a_damaged_object_is_an_error(checkout: Path) -> None:
    path = loose(checkout, git(checkout, "rev-parse", f"HEAD:{SPEC}").strip())
    path.chmod(0o600)
    data = path.read_bytes()
    for damaged in (data[:-5], b"", b"x" * len(data), data[:9] + b"\xff" + data[10:]):
        path.write_bytes(damaged)
        result = run("specs", "diff", f"{checkout}@9.2.0", f"{checkout}@9.2.0")
        assert (result.exit_code, str(checkout) in result.stderr) == (2, True)


def test_paths_that_look_like_questions_to_git(checkout: Path) -> None:
    hostile = f"message/A\n9.2.0:{SPEC}\n.json"
    name = git(checkout, "hash-object", "-w", "--stdin", stdin=b"{}").strip()
    git(checkout, "update-index", "--add", "--cacheinfo", f"100644,{name},{hostile}")
    git(checkout, "commit", "-q", "-m", "two")
    revision = GitRevision("x", str(checkout), "HEAD")
    assert revision.read([hostile, SPEC]) == {
        hostile: b"{}",
        SPEC: (checkout / SPEC).read_bytes(),
    }


def test_a_huge_blob_is_refused_before_it_is_read(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(import_sources, "LARGEST_FILE", 10_000)
    (checkout / "Foo.json").write_text(" " * 10_001)
    git(checkout, "add", "-A")
    git(checkout, "commit", "-q", "-m", "two")
    source = f"{checkout / 'Foo.json'}@HEAD"
    result = run("specs", "diff", f"{checkout}@HEAD:Foo.json", source)
    assert result.exit_code == 2
    assert "has 10001 bytes; no more than 10000 are read" in result.stderr


def write_bomb(repository: Path, kind: str, size: int) -> str:
    """Write a loose object of `size` zeros, which zlib makes a thousand times smaller."""
    header = f"{kind} {size}\0".encode()
    digest, packer = sha1(header), zlib.compressobj()
    packed = packer.compress(header)
    block = bytes(2**20)
    for _ in range(size // 2**20):
        digest.update(block)
        packed += packer.compress(block)
    name = digest.hexdigest()
    path = repository / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packed + packer.flush())
    return name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["commit", "tree", "tag"])
def test_a_bomb_does_not_take_the_memory_it_announces(checkout: Path, kind: str) -> None:
    name = write_bomb(checkout, kind, 256 * 2**20)
    if kind == "tree":
        body = f"tree {name}\nauthor t <t> 0 +0000\ncommitter t <t> 0 +0000\n\n".encode()
        name = git(checkout, "hash-object", "-t", "commit", "-w", "--stdin", stdin=body).strip()
    (checkout / ".git/refs/tags/bomb").write_text(f"{name}\n")
    program = (
        "import resource, sys\n"
        "from kraftwire_generator.importer.sources import SourceError, read_source\n"
        "try:\n    read_source(sys.argv[1])\n"
        "except SourceError:\n"
        "    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, f"{checkout}@bomb"], capture_output=True, check=True
    )
    used = int(done.stdout) * (1 if sys.platform == "darwin" else 1024)
    assert used < 200 * 2**20


def test_a_tree_that_grows_without_end(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = git(checkout, "hash-object", "-w", "--stdin", stdin=b"{}").strip()
    lines = "".join(f"100644 blob {blob}\t{n}\n" for n in range(10))
    for _ in range(8):
        tree = git(checkout, "mktree", stdin=lines.encode()).strip()
        lines = "".join(f"040000 tree {tree}\t{n}\n" for n in range(10))
    git(checkout, "tag", "bomb", git(checkout, "commit-tree", "-m", "x", tree).strip())
    monkeypatch.setattr(import_sources, "LARGEST_LISTING", 2**20)
    with pytest.raises(SourceError, match="prints more than 1048576 bytes"):
        read_source(f"{checkout}@bomb")


@pytest.mark.slow
def test_git_that_does_not_end_is_stopped(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git_process, "GIT_SECONDS", 0.5)
    (checkout / ".git/refs/tags/9.2.0").unlink()
    os.mkfifo(checkout / ".git/refs/tags/9.2.0")
    with pytest.raises(SourceError, match=r"git took more than 0\.5 seconds"):
        read_source(f"{checkout}@9.2.0")


def test_git_that_is_not_installed(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(checkout))
    with pytest.raises(SourceError, match="git cannot be run"):
        read_source(f"{checkout}@9.2.0")


def test_revisions_are_not_options(checkout: Path) -> None:
    for revision in ("--help", "-C/", "\0", "a\0b", "@{-1}", ":/", ":0:x", "a..b", "x" * 9000):
        with pytest.raises(SourceError):
            read_source(f"{checkout}@{revision}")


def test_what_git_says_is_harmless(checkout: Path) -> None:
    (checkout / ".git/config").write_text("[core]\n\t\x1b[31m\x07bad\n")
    result = run("specs", "diff", f"{checkout}@9.2.0", f"{checkout}@9.2.0")
    assert (result.exit_code, "\x1b" in result.stderr) == (2, False)
    with pytest.raises(GitError):
        run_git(checkout, ["rev-parse", "HEAD"], largest_output=99)
