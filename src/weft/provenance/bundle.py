"""A node's evidence in one file that anyone can check without the grove it came from.

A zip, stored without compression: `nodes.jsonl` has, for the node and everything it was
written from, exactly what was hashed; `bodies/` the raw responses and items, `blobs/` the
media, `timestamps.json` the tokens. `bundle.json` lists every part with its SHA-256, and
`seal` is the SHA-256 of that list. Made twice, a bundle is the same to the byte, and a
bundle that cannot be made again from its own parts is refused.
"""

import hashlib
import json
import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import orjson
import rfc8785

from weft.errors import InvalidInputError, LimitExceededError, WeftError
from weft.ids import is_ulid
from weft.provenance.findings import Findings, Report
from weft.provenance.timestamps import certified_time, load_anchors
from weft.store.packed_bodies import PackingError, unpack
from weft.tree.content import blob_refs, content_from_wire
from weft.tree.json_names import iso
from weft.tree.progress import Progress

FORMAT = "weft-bundle-1"
_MOMENT = (1980, 1, 1, 0, 0, 0)
_PIECE = 1024 * 1024
_FILE_LIMIT = 8 * 1024 * 1024 * 1024
_PART_LIMIT = 200_000
_LISTING_LIMIT = 64 * 1024 * 1024
_LINE_LIMIT = 128 * 1024 * 1024
_NODE_LIMIT = 1_000_000
_BODY_LIMIT = 256 * 1024 * 1024
_ORDER = ("nodes.jsonl", "timestamps.json")
_PART = re.compile(r"(nodes\.jsonl|timestamps\.json|bundle\.json|seal|(bodies|blobs)/[0-9a-f]{64})\Z")


class BundleWriter:
    """Writes a bundle part by part; nothing is there under its name until it is whole."""

    def __init__(self, path: Path) -> None:
        if path.exists():
            raise InvalidInputError(f"{path} exists already", hint="name another file")
        self._path = path
        self._parts: dict[str, str] = {}
        try:
            self._file = tempfile.NamedTemporaryFile(dir=path.parent, prefix=".bundle-", delete=False)  # noqa: SIM115 - closed by close or discard
        except OSError as error:
            raise InvalidInputError(f"cannot write {path}: {error.strerror}") from error
        self._zip = zipfile.ZipFile(self._file, "w", zipfile.ZIP_STORED, allowZip64=True)

    def add(self, name: str, pieces: Iterator[bytes] | Sequence[bytes]) -> None:
        self._parts[name] = _write(self._zip, name, pieces)

    def close(self, *, node: str, tree: str) -> None:
        listing = {"format": FORMAT, "node": node, "tree": tree, "parts": self._parts}
        data = orjson.dumps(listing, option=orjson.OPT_SORT_KEYS)
        _write(self._zip, "bundle.json", [data])
        _write(self._zip, "seal", [hashlib.sha256(data).hexdigest().encode()])
        self._zip.close()
        self._file.close()
        Path(self._file.name).replace(self._path)

    def discard(self) -> None:
        self._zip.close()
        self._file.close()
        Path(self._file.name).unlink(missing_ok=True)


def _write(archive: zipfile.ZipFile, name: str, pieces: Iterator[bytes] | Sequence[bytes]) -> str:
    """One part; always with the same header. Returns its SHA-256."""
    entry = zipfile.ZipInfo(name, _MOMENT)
    entry.create_system = 3
    entry.external_attr = 0o600 << 16
    digest = hashlib.sha256()
    with archive.open(entry, "w", force_zip64=True) as part:
        for piece in pieces:
            digest.update(piece)
            part.write(piece)
    return digest.hexdigest()


def verify_bundle(
    path: Path | str, progress: Progress | None = None, *, trust: bytes | None = None
) -> Report:
    """Check a bundle from anywhere, with nothing but the file. Its content is not trusted.

    Timestamps are checked against the certificates in `trust` (PEM); without, against those
    that came with the bundle, which says only that it is whole.
    """
    if trust is not None:
        load_anchors(trust)
    findings = Findings()
    try:
        size = Path(path).stat().st_size
        if size > _FILE_LIMIT:
            raise LimitExceededError(f"a bundle has at most {_FILE_LIMIT:,} bytes, this one has {size:,}")
        with Path(path).open("rb") as file:
            _check_file(findings, file, progress, trust)
    except OSError as error:
        raise InvalidInputError(f"cannot read {path}: {error.strerror}") from error
    return findings.report("bundle")


def _check_file(findings: Findings, file: IO[bytes], progress: Progress | None, trust: bytes | None) -> None:
    try:
        with zipfile.ZipFile(file) as archive:
            entries = _entries(archive)
            listing = _listing(findings, archive, entries)
            if listing is not None and _same_parts(findings, listing, entries):
                _Opened(findings, archive, listing, trust).check(progress)
            _check_made_again(findings, archive, file)
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        findings.differs_in("bundle", "file", "zip", str(error)[:120] or "it cannot be read")
    except UnicodeDecodeError:
        findings.differs_in("bundle", "file", "zip", "a name that is not text")


def _entries(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Parts by name; refused before anything of them is read."""
    listed = archive.infolist()
    if len(listed) > _PART_LIMIT:
        raise LimitExceededError(f"a bundle has at most {_PART_LIMIT:,} parts, this one has {len(listed):,}")
    entries: dict[str, zipfile.ZipInfo] = {}
    for entry in listed:
        name = entry.filename
        if not _PART.match(name) or name in entries:
            raise InvalidInputError(f"{name[:80]!r} is no part of a bundle")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise InvalidInputError(f"{name} is compressed: not a bundle that Weft wrote")
        if entry.flag_bits & 1:
            raise InvalidInputError(f"{name} is encrypted")
        entries[name] = entry
    if sum(entry.file_size for entry in entries.values()) > _FILE_LIMIT:
        raise LimitExceededError("the bundle's parts claim to be larger than a bundle can be")
    return entries


def _listing(
    findings: Findings, archive: zipfile.ZipFile, entries: Mapping[str, zipfile.ZipInfo]
) -> dict[str, Any] | None:
    for name in ("bundle.json", "seal", *_ORDER):
        if name not in entries:
            findings.missing("bundle", name, "the part")
            return None
    if entries["bundle.json"].file_size > _LISTING_LIMIT or entries["seal"].file_size != 64:
        findings.differs_in("bundle", "bundle.json", "size")
        return None
    data = archive.read("bundle.json")
    findings.compare(
        "bundle", "seal", "sha256", archive.read("seal"), hashlib.sha256(data).hexdigest().encode()
    )
    listing = _parsed(
        data,
        lambda listing: (
            listing["format"] == FORMAT
            and is_ulid(listing["node"])
            and is_ulid(listing["tree"])
            and all(isinstance(digest, str) for digest in listing["parts"].values())
        ),
    )
    if listing is None:
        findings.differs_in("bundle", "bundle.json", "content", "no list that Weft wrote")
    return listing


def _parsed(data: bytes, is_usable: Callable[[Any], bool]) -> dict[str, Any] | None:
    """A JSON object that has what is needed; else None."""
    try:
        value = orjson.loads(data)
        return value if is_usable(value) else None
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError):
        return None


def _pieces(file: IO[bytes]) -> Iterator[bytes]:
    return iter(lambda: file.read(_PIECE), b"")


def _same_parts(
    findings: Findings, listing: Mapping[str, Any], entries: Mapping[str, zipfile.ZipInfo]
) -> bool:
    named, there = set(listing["parts"]), set(entries) - {"bundle.json", "seal"}
    for name in sorted(named - there):
        findings.missing("bundle", name[:80], "the part")
    for name in sorted(there - named):
        findings.differs_in("bundle", name, "record", "the list does not name it")
    return named == there


def _check_made_again(findings: Findings, archive: zipfile.ZipFile, file: IO[bytes]) -> None:
    """Made of the same parts, the same bytes: so nothing hides between them."""
    with tempfile.TemporaryFile() as again:
        with zipfile.ZipFile(again, "w", zipfile.ZIP_STORED, allowZip64=True) as copy:
            for entry in archive.infolist():
                with archive.open(entry) as part:
                    _write(copy, entry.filename, _pieces(part))
        again.seek(0)
        file.seek(0)
        if any(one != other for one, other in zip_longest(_pieces(file), _pieces(again))):
            findings.differs_in("bundle", "file", "bytes between the parts")


@dataclass(slots=True)
class _Opened:
    """A bundle whose list of parts is known."""

    findings: Findings
    archive: zipfile.ZipFile
    listing: Mapping[str, Any]
    trust: bytes | None
    hashes: dict[str, str] = field(default_factory=dict[str, str])
    """Node → the hash its line claims."""

    def check(self, progress: Progress | None) -> None:
        self._check_parts()
        total = 0
        for line in self._lines():
            total += 1
            value = self._read_line(line)
            if value is not None:
                self.hashes[value["facts"]["nodeId"]] = value["hash"]
        if self.listing["node"] not in self.hashes:
            self.findings.missing("node", self.listing["node"], "the node that the bundle is about")
        for done, line in enumerate(self._lines(), 1):
            value = self._read_line(line, quiet=True)
            if value is not None:
                self._check_node(value)
            if progress is not None and done % 1_000 == 0:
                progress(done, total)
        self._check_stamps()

    def _check_parts(self) -> None:
        """Every part against the list, and bodies against their names."""
        for name, listed in self.listing["parts"].items():
            digest = hashlib.sha256()
            with self.archive.open(name) as part:
                for piece in _pieces(part):
                    digest.update(piece)
            self.findings.compare("bundle", name, "sha256", listed, digest.hexdigest())
            folder, _, ref = name.partition("/")
            if folder == "blobs":
                self.findings.blobs += 1
                self.findings.compare("blob", ref, "bytes", ref, digest.hexdigest())
            elif folder == "bodies":
                self._check_body(name, ref)

    def _check_body(self, name: str, ref: str) -> None:
        self.findings.bodies += 1
        if self.archive.getinfo(name).file_size > _BODY_LIMIT:
            raise LimitExceededError(f"{name} has more than {_BODY_LIMIT:,} bytes")
        try:
            body = unpack(self.archive.read(name), _BODY_LIMIT)
        except PackingError as error:
            self.findings.differs_in("body", ref, "gzip", str(error))
            return
        self.findings.compare("body", ref, "sha256", ref, hashlib.sha256(body).hexdigest())

    def _lines(self) -> Iterator[bytes]:
        with self.archive.open("nodes.jsonl") as part:
            count = 0
            while line := part.readline(_LINE_LIMIT + 1):
                count += 1
                if len(line) > _LINE_LIMIT or count > _NODE_LIMIT:
                    raise LimitExceededError("the bundle holds more than a bundle can")
                yield line

    def _read_line(self, line: bytes, *, quiet: bool = False) -> dict[str, Any] | None:
        value = _parsed(
            line,
            lambda value: (
                isinstance(value["hash"], str)
                and is_ulid(value["facts"]["nodeId"])
                and value["facts"]["treeId"] == self.listing["tree"]
                and all(len(source) == 3 for source in value["facts"]["sources"])
                and all(len(item) == 2 for item in value["facts"]["attachments"])
            ),
        )
        if value is None and not quiet:
            self.findings.differs_in("bundle", "nodes.jsonl", "line", line[:60].decode(errors="replace"))
        return value

    def _check_node(self, value: Mapping[str, Any]) -> None:
        findings, facts = self.findings, value["facts"]
        node = facts["nodeId"]
        findings.nodes += 1
        try:
            computed = hashlib.sha256(rfc8785.dumps(facts)).hexdigest()
            content = content_from_wire(facts["content"])
        except (rfc8785.CanonicalizationError, RecursionError, WeftError, ValueError, TypeError, KeyError):
            findings.differs_in("node", node, "content", "nothing that can be hashed")
            return
        findings.compare("node", node, "hash", value["hash"], computed)
        for source, _, digest in facts["sources"]:
            known = self.hashes.get(source)
            if known is None:
                findings.missing("node", node, f"source {source}")
            else:
                findings.compare("node", node, f"hash of source {source}", digest, known)
        wanted = [("body", digest) for _, digest in facts["attachments"]]
        if facts.get("responseSha256") is not None:
            wanted.append(("body", facts["responseSha256"]))
        wanted += [("blob", ref) for ref in blob_refs(content)]
        for kind, digest in wanted:
            folder = "bodies" if kind == "body" else "blobs"
            if f"{folder}/{digest}" not in self.listing["parts"]:
                findings.missing("node", node, f"{kind} {digest}")

    def _check_stamps(self) -> None:
        if self.archive.getinfo("timestamps.json").file_size > _LISTING_LIMIT:
            raise LimitExceededError("the bundle's timestamps are too large")
        try:
            stamps = json.loads(self.archive.read("timestamps.json"))
            for stamp in stamps:
                self._check_stamp(stamp)
        except (ValueError, KeyError, TypeError, RecursionError):
            self.findings.differs_in("bundle", "timestamps.json", "content", "no timestamps that Weft wrote")

    def _check_stamp(self, stamp: Mapping[str, Any]) -> None:
        findings = self.findings
        findings.timestamps += 1
        name, digest = str(stamp["id"]), bytes.fromhex(stamp["digest"])
        known = self.hashes.get(stamp["node"])
        findings.compare("timestamp", name, "digest", digest.hex(), known)
        try:
            certificates = self.trust or stamp["certificates"].encode()
            moment = iso(certified_time(bytes.fromhex(stamp["token"]), digest, certificates))
        except WeftError as error:
            findings.differs_in("timestamp", name, "token", error.message)
            return
        findings.compare("timestamp", name, "certified at", stamp["certifiedAt"], moment)
