# Copyright the urnic authors. SPDX-License-Identifier: BSD-3-Clause
"""The folder that a student works in: a copy of the lab, kept and continued once it is there."""
import json
import pathlib
import shutil

from runner.catalog import COMMON
from runner.exercises import exercises

NOT_FOR_STUDENTS = {"lab.py", "teacher.md"}
PROGRESS = ".progress.json"


def usual(lab):
    """In the current folder, or that one: students stay in the folder that they edit."""
    name = f"urnic-lab-{lab.number}"
    here = pathlib.Path.cwd()
    return here if here.name == name and (here / "README.md").exists() else pathlib.Path(name)


def other_lab_in(folder, lab):
    """The title of the lab that is there, if it is not this one; None otherwise."""
    there, ours = (_title(place / "README.md") for place in (folder, lab.folder))
    return there if there and there != ours else None


def _title(page):
    try:
        with open(page) as file:
            return file.readline().strip("# \n")
    except OSError:
        return None


def prepare(lab, folder):
    """Copies what is not there yet. Whether the folder is new."""
    is_new = not (folder / "README.md").exists()
    folder.mkdir(parents=True, exist_ok=True)
    for source in (*_files(COMMON), *_files(lab.folder)):
        if not (folder / source.name).exists():
            shutil.copyfile(source, folder / source.name)
    for name, text in exercises(lab.folder, is_filled=False).items():
        if not (folder / name).exists():
            (folder / name).write_text(text)
    return is_new


def fill_in(lab, folder):
    """Puts the solutions over the files with gaps."""
    for name, text in exercises(lab.folder, is_filled=True).items():
        (folder / name).write_text(text)


def _files(folder):
    return [path for path in sorted(folder.iterdir()) if path.is_file() and path.name not in NOT_FOR_STUDENTS]


def progress(folder):
    """How many steps are done."""
    try:
        return int(json.loads((folder / PROGRESS).read_text())["done"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def keep_progress(folder, done):
    (folder / PROGRESS).write_text(json.dumps({"done": done}) + "\n")
