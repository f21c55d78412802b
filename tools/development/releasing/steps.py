# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The steps of a release. Each takes a Log and the options, and returns what is right, or raises Failed."""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile

from releasing import changelog
from releasing.version import ROOT, folder, other_places, version
from testing.log import Log

PACKAGES = ROOT / "build/packages"
SUMS = "SHA256SUMS"
NOTES = "release-notes.md"
HASH_LETTERS = 7  # of a commit that is named in short, at least


class Failed(Exception):
    """What is wrong, and what to do."""


class LeftOut(Exception):
    """Why a step was not carried out."""


def git(*words):
    result = subprocess.run(
        ["git", "-c", "safe.directory=*", *words], cwd=ROOT, capture_output=True, text=True
    )
    if result.returncode and result.stderr:
        raise Failed(f"git {words[0]}: {result.stderr.strip()}")
    return result.stdout.strip()


def must(log: Log, *command):
    if not log.run(*command):
        lines = log.text().splitlines()[-5:]
        raise Failed(f"{command[0]} failed; {log.path.relative_to(ROOT)} ends with: " + " / ".join(lines))


def keep(*files):
    """Copies files into the folder of the release."""
    for file in files:
        shutil.copy2(file, folder())


def name_of_source():
    return f"urnic-{version()}-source"


def tree(log, options):
    changed = git("status", "--porcelain")
    if changed:
        raise Failed(f"not all is committed: {', '.join(line[3:] for line in changed.splitlines()[:5])}")
    branch = git("branch", "--show-current") or "no branch"
    return f"clean; commit {git('rev-parse', '--short=12', 'HEAD')} of {branch}"


def one_version(log, options):
    others = other_places(git("grep", "--untracked", "-nI", "-F", version()))
    if others:
        raise Failed(f"the version stands elsewhere, too: {others[0]}")
    return f"{version()} stands in one place"


def changelog_notes():
    try:
        return changelog.notes_of((ROOT / "CHANGELOG.md").read_text(), version())
    except changelog.NotReady as reason:
        raise Failed(f"CHANGELOG.md: {reason}") from None


def changes(log, options):
    try:
        changelog.check_nothing_is_unreleased((ROOT / "CHANGELOG.md").read_text())
    except changelog.NotReady as reason:
        raise Failed(f"CHANGELOG.md: {reason}") from None
    body, date = changelog_notes()
    return f"CHANGELOG.md has a section of {version()}, of {date}, with {len(body.splitlines())} lines"


def tag(log, options):
    if git("tag", "--list", f"v{version()}"):
        raise Failed(f"there is a tag v{version()}: the version in CMakeLists.txt has to be a new one")
    return f"v{version()} is free"


def tests(log, options):
    if options.without_tests:
        raise LeftOut("--without-tests: tools/test has to have run on this commit")
    must(log, "tools/test")
    return log.text().splitlines()[-1]


def packages(log, options):
    must(log, "tools/package")
    machine = os.uname().machine
    wanted = (
        f"urnic_{version()}_*.deb",
        f"urnic-{version()}-linux-{machine}.tar.gz",
        f"urnic-{version()}-*.whl",
    )
    found = [list(PACKAGES.glob(pattern)) for pattern in wanted]
    for pattern, files in zip(wanted, found):
        if len(files) != 1:
            raise Failed(f"{PACKAGES.relative_to(ROOT)} has {len(files)} files {pattern}, and one is wanted")
        keep(*files)
    said = subprocess.run(
        [ROOT / "build/release/bin/urnic", "--version"], capture_output=True, text=True
    ).stdout
    if said.splitlines()[:1] != [f"urnic {version()}"]:
        raise Failed(f"the program says: {said}")
    return ", ".join(files[0].name for files in found)


def source(log, options):
    """An archive of the commit, which configures elsewhere and knows its commit there without git."""
    name = name_of_source()
    archive = folder() / f"{name}.tar.gz"
    git("archive", "--format=tar.gz", f"--prefix={name}/", f"--output={archive}", "HEAD")
    with tempfile.TemporaryDirectory(prefix="urnic-source-") as place:
        must(log, "tar", "-C", place, "-xf", archive)
        build = f"{place}/build"
        must(log, "cmake", "-S", f"{place}/{name}", "-B", build, "--preset", "release")
        with open(f"{build}/tools/command/commit.cc") as file:
            commit = re.search(r'"(\w+)"', file.read())[1]
    if len(commit) < HASH_LETTERS or not git("rev-parse", "HEAD").startswith(commit):
        raise Failed(f"built from the archive urnic says commit {commit}")
    return f"{archive.name} configures, and urnic of it says commit {commit}"


def image(log, options):
    if options.without_image:
        raise LeftOut("--without-image")
    said = subprocess.run(["dpkg", "--print-architecture"], capture_output=True, text=True, check=True)
    file = folder() / f"urnic-{version()}-{said.stdout.strip()}.oci.tar"
    must(log, "tools/deployment/containers/make-image", file)
    return file.name


def notes(log, options):
    try:
        body, _ = changelog_notes()
    except Failed as reason:
        if options.between_releases:
            raise LeftOut(reason) from None
        raise
    text = changelog.without_links(body)
    (folder() / NOTES).write_text(
        f"# urnic {version()}\n\n{text}\n\nPaths are in the archive of the sources.\n"
    )
    return NOTES


def sums(log, options):
    """Of all files, as sha256sum --check reads them."""
    files = sorted(path for path in folder().iterdir() if path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (folder() / SUMS).write_text("".join(lines))
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", SUMS], cwd=folder(), capture_output=True, text=True
    )
    if checked.returncode:
        raise Failed(f"sha256sum says: {checked.stdout}{checked.stderr}")
    return f"{SUMS} of {len(files)} files"


# In this order: what is wrong with the tree is said before anything is built.
CHECKS = {"tree": tree, "version": one_version, "changelog": changes, "tag": tag}
MAKERS = {
    "tests": tests,
    "packages": packages,
    "source": source,
    "image": image,
    "notes": notes,
    "sums": sums,
}
