"""A folder as a verifier sees it: every entry with its kind, no link followed."""

import os
import stat
import tarfile
import zipfile

FILE, FOLDER, LINK, OTHER = "file", "folder", "link", "other"


class Folder:
    """`entries`: kind by path, with `/` between names; a file is read when it is asked for."""

    def __init__(self, root):
        self.root, self.entries, self._read = root, {}, {}
        self._list(root, "")
        self.entries = dict(sorted(self.entries.items()))

    def _list(self, folder, prefix):
        with os.scandir(folder) as listing:
            for entry in listing:
                path = prefix + entry.name
                mode = entry.stat(follow_symlinks=False).st_mode
                kind = LINK if stat.S_ISLNK(mode) else FILE if stat.S_ISREG(mode) else OTHER
                self.entries[path] = FOLDER if stat.S_ISDIR(mode) else kind
                if stat.S_ISDIR(mode):
                    self._list(entry.path, path + "/")

    def is_file(self, path):
        return self.entries.get(path) == FILE

    def files(self, below=""):
        return [path for path, kind in self.entries.items() if kind == FILE and path.startswith(below)]

    def read(self, path):
        """The bytes of a regular file; None if there is none of this path."""
        if path not in self._read:
            if not self.is_file(path):
                return None
            with open(os.path.join(self.root, path), "rb") as file:
                self._read[path] = file.read()
        return self._read[path]


class Unpacked(Folder):
    """The folder in a tar or zip, whose own form (AR1 to AR8) is not judged here."""

    def __init__(self, path):
        self.root, self.entries, self._read = path, {}, {}
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as archive:
                for entry in archive.infolist():
                    self._add(entry.filename, FOLDER if entry.is_dir() else FILE, archive.read(entry))
        else:
            with tarfile.open(path) as archive:
                for entry in archive:
                    kind = FOLDER if entry.isdir() else FILE if entry.isfile() else LINK if entry.issym() else OTHER
                    self._add(entry.name, kind, archive.extractfile(entry).read() if kind == FILE else None)
        tops = {path.split("/")[0] for path in self.entries}
        if len(tops) == 1 and self.entries.get(top := tops.pop()) == FOLDER:
            inside = lambda found: {path[len(top) + 1:]: one for path, one in found.items() if path != top}
            self.entries, self._read = inside(self.entries), inside(self._read)
        self.entries = dict(sorted(self.entries.items()))

    def _add(self, name, kind, content):
        path = name.removeprefix("./").rstrip("/")
        for end in (at for at, c in enumerate(path) if c == "/"):
            self.entries.setdefault(path[:end], FOLDER)
        if path not in ("", "."):
            self.entries[path] = kind
            self._read[path] = content
