#!/usr/bin/env python3
# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""An image of urnic (tools/deployment/containers/make-image): made of the package in build/packages, looked
at as an engine does, and run twice at once.

    try_image.py [--image FILE.oci.tar] [SUITE]      trixie by default; an image that is there is not made

Needs root, and apt's mirror unless the image is there. Ends with 'N passed, N failed, N skipped'.
"""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
CONTAINERS = ROOT / "tools/deployment/containers"
LABEL = "org.opencontainers.image."


class Failure(Exception):
    """What is wrong."""


def said_by(*words):
    result = subprocess.run(
        [str(word) for word in words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if result.returncode:
        raise Failure(f"{' '.join(map(str, words))}: {result.stdout.strip()}")
    return result.stdout


def version():
    packages = list((ROOT / "build/packages").glob("urnic_*.deb"))
    if len(packages) != 1:
        raise Failure("one .deb is wanted in build/packages: run tools/package")
    return said_by("dpkg-deb", "--field", packages[0], "Version").strip()


def blob(archive, digest):
    return json.load(archive.extractfile("blobs/" + digest.replace(":", "/")))


def check_configuration(image):
    """What an engine reads before it runs anything."""
    with tarfile.open(image) as archive:
        if json.load(archive.extractfile("oci-layout"))["imageLayoutVersion"] != "1.0.0":
            raise Failure("the layout is of another version")
        manifests = json.load(archive.extractfile("index.json"))["manifests"]
        names = [manifest["annotations"]["org.opencontainers.image.ref.name"] for manifest in manifests]
        if names != [f"urnic:{version()}"]:
            raise Failure(f"the archive has {names}")
        manifest = blob(archive, manifests[0]["digest"])
        configuration = blob(archive, manifest["config"]["digest"])
        digests = {manifests[0]["digest"], manifest["config"]["digest"], manifest["layers"][0]["digest"]}
        files = {name for name in archive.getnames() if name.startswith("blobs/sha256/")}
        if files != {"blobs/" + digest.replace(":", "/") for digest in digests}:
            raise Failure(f"the archive has other files than its image: {sorted(files)}")
    wanted = {
        "architecture": said_by("dpkg", "--print-architecture").strip(),
        "os": "linux",
        "User": "user",
        "Cmd": ["urnic", "doctor"],
        "WorkingDir": "/home/user",
        f"{LABEL}version": version(),
        f"{LABEL}title": "urnic",
        f"{LABEL}licenses": "BSD-3-Clause",
    }
    found = {**configuration, **configuration["config"], **configuration["config"]["Labels"]}
    different = {name: found.get(name) for name, value in wanted.items() if found.get(name) != value}
    if different:
        raise Failure(f"the image's configuration is not as it should be: {different}")
    print("  its configuration is right")


def check_pair(image, *options):
    said = said_by(CONTAINERS / "run-pair", *options, image)
    if not re.search(r"^ *65536\s+1000\s+[\d.]+\s+[\d.]+\s", said, re.MULTILINE):
        raise Failure(f"ib_write_bw measured nothing: {said}")
    print(f"  ib_write_bw ran in two containers {' '.join(options)}".rstrip())


def check_user(image):
    """Programs are an ordinary user's, and the doctor has no complaint."""
    look = "id -un; urnic doctor >/tmp/doctor.$$ || cat /tmp/doctor.$$"
    said = said_by(CONTAINERS / "run-pair", image, "sh", "-c", look)
    if said != "user\n":
        raise Failure(f"not as an ordinary user without problems: {said}")
    print("  an ordinary user has no problem in it")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--image", type=pathlib.Path, metavar="FILE.oci.tar", help="try this one")
    parser.add_argument("suite", nargs="?", default="trixie", metavar="SUITE")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("skipped: only root can run the containers")
        print("0 passed, 0 failed, 1 skipped")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory(prefix="urnic-image-") as folder:
        image = options.image or pathlib.Path(folder, "urnic.oci.tar")
        try:
            said_by(ROOT / "tools/install-packages", "images")
            if not options.image:
                print(said_by(CONTAINERS / "make-image", image, options.suite).splitlines()[-1], flush=True)
            check_configuration(image)
            check_user(image)
            check_pair(image)
            check_pair(image, "--apart")
        except Failure as failure:
            print(f"FAILED: {failure}")
            failed = 1
    print(f"{1 - failed} passed, {failed} failed, 0 skipped")
    return failed


if __name__ == "__main__":
    sys.exit(main())
