"""A workspace is made equal to a folder or a list of documents, by what has changed and no more."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from aptix_edge import AptixError, _folder
from aptix_edge._git_rules import GitRules
from conftest import Bed, World, new_id

FOLDER_TS = Path(__file__).parents[2] / "typescript/src/folder.ts"


def test_documents_are_compared_by_their_hashes_and_sent_in_requests_of_bounded_number_and_length(
    world: World, bed: Bed
) -> None:
    log: list[Any] = []
    workspace = world.client(bed.direct, on_log=log.append).workspace(new_id("synced"))
    documents: list[Any] = [{"Path": f"src/{at}.rs", "Contents": f"fn f{at}() {{}}\n"} for at in range(250)]

    def made(method: str) -> int:
        return sum(entry.method == method for entry in log)

    assert len(workspace.sync(documents).sent) == 250
    assert made("PUT") == 3
    assert workspace.get()["Documents"] == 250

    reads: list[int] = []

    def changed() -> str:
        reads.append(3)
        return "fn changed() {}\n"

    documents[3]["Contents"] = changed
    progress: list[Any] = []
    kept = documents[:120]
    planned = workspace.sync(kept, remove=True, dry_run=True)
    assert (planned.sent, len(planned.removed)) == (["src/3.rs"], 130)
    result = workspace.sync(kept, remove=True, on_progress=lambda *told: progress.append(told))
    assert (result.sent, len(result.removed), result.left_out, len(reads)) == (["src/3.rs"], 130, [], 3)
    assert progress[-1] == (131, 131)
    assert made("DELETE") == 2
    again = workspace.sync([{**each, "Path": f".//{each['Path']}"} for each in kept], remove=True)
    assert (again.sent, again.removed) == ([], [])
    spared = workspace.sync(kept[:100], remove=lambda path: path == "src/110.rs")
    assert spared.removed == ["src/110.rs"]

    before = made("PUT")
    long = [{"Path": each["Path"], "Contents": f"{at}".ljust(1000, "x")} for at, each in enumerate(kept)]
    workspace.sync(long, max_bytes=40_000)
    assert 3 <= made("PUT") - before <= 5

    [put] = workspace.put([{"Path": "b.md", "Contents": "an invoice manager"}])
    assert put["Sha256"] == hashlib.sha256(b"an invoice manager").hexdigest()
    assert workspace.search("invoice manager")["Chunks"][0]["Path"] == "b.md"
    workspace.remove(["src/1.rs", "src/2.rs"])
    workspace.remove("src/")
    emptied = workspace.sync([], remove=True)
    assert (emptied.sent, emptied.removed) == ([], ["b.md"])
    assert workspace.erase()["Documents"] == 0


def test_a_document_is_removed_whose_path_has_a_blank_and_none_with_a_plus_sign(world: World, bed: Bed) -> None:
    workspace = world.client(bed.direct).workspace(new_id("blanks"))
    kept: list[Any] = [{"Path": "a+b.md", "Contents": "alpha"}]
    workspace.put([*kept, {"Path": "a b.md", "Contents": "beta"}])
    first = workspace.sync(kept, remove=True)
    assert (first.sent, first.removed) == ([], ["a b.md"])
    again = workspace.sync(kept, remove=True)
    assert (again.sent, again.removed) == ([], [])


@pytest.mark.parametrize("refusal", ["in words", "reset", "closed"])
def test_a_batch_that_something_before_the_service_refuses_goes_in_halves(world: World, refusal: str) -> None:
    def service(request: httpx.Request) -> httpx.Response:
        if len(request.content) > 2500:
            if refusal == "in words":
                return httpx.Response(413, html="<h1>413</h1>")
            if refusal == "reset":
                raise httpx.ReadError("reset", request=request) from ConnectionResetError(104, "reset")
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.", request=request)
        documents = json.loads(request.content)["Documents"]
        needed = {"Needed": [each["Path"] for each in documents], "Extra": []}
        result = {"Documents": documents} if request.method == "PUT" else needed
        return httpx.Response(200, json={"Successful": True, "Result": result, "Errors": [], "Warnings": []})

    workspace = world.client("http://service", transport=httpx.MockTransport(service)).workspace("w")
    documents: list[Any] = [{"Path": f"{at}.md", "Contents": "word " * 200} for at in range(4)]
    synced = workspace.sync(documents)
    assert (len(synced.sent), synced.left_out) == (4, [])


def test_what_one_comparison_has_no_room_for_goes_with_the_next_one(world: World) -> None:
    held = {"kept.md", *(f"{'long/' * 200}{at}.md" for at in range(600))}
    puts: list[str] = []

    def told(result: Any = None, errors: Any = (), warnings: Any = ()) -> httpx.Response:
        body = {"Successful": not errors, "Result": result, "Errors": [*errors], "Warnings": [*warnings]}
        return httpx.Response(400 if errors else 200, json=body)

    def take(request: httpx.Request) -> httpx.Response:
        if request.method == "DELETE":
            held.difference_update(request.url.params.get_list("Path"))
            return told()
        paths = [each["Path"] for each in json.loads(request.content)["Documents"]]
        if request.method == "PUT":
            puts.extend(paths)
            return told(errors=[{"ErrorCode": "invalid_field", "Message": "No.", "Path": "/Documents/0/Contents"}])
        # The service names 4 MB of paths; here it needs three answers for all.
        others = sorted(held - set(paths))
        result = {"Needed": [path for path in paths if path not in held], "Extra": others[:250]}
        return told(result, warnings=[{"ErrorCode": "extra_cut", "Message": "More."}] if others[250:] else [])

    workspace = world.client("http://service", transport=httpx.MockTransport(take)).workspace("w")
    documents: list[Any] = [{"Path": path, "Contents": "alpha"} for path in ("kept.md", "refused.md")]
    planned = workspace.sync(documents, remove=True, dry_run=True)
    assert (len(planned.removed), planned.has_more) == (250, True)
    result = workspace.sync(documents, remove=True)
    assert (len(result.removed), held, puts) == (600, {"kept.md"}, ["refused.md"])
    assert [each.path for each in result.left_out] == ["refused.md"]


def test_a_file_that_becomes_one_with_a_key_meanwhile_is_not_sent(world: World, tmp_path: Path) -> None:
    for name in ("a.md", "key.md"):
        (tmp_path / name).write_text(f"# {name}\n", "utf-8")
    puts: list[str] = []

    def take(request: httpx.Request) -> httpx.Response:
        paths = [each["Path"] for each in json.loads(request.content)["Documents"]]
        if request.method == "PUT":
            puts.extend(paths)
        else:
            key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n"
            (tmp_path / "key.md").write_text(key, "utf-8")
        return httpx.Response(200, json={"Successful": True, "Result": {"Needed": paths, "Extra": []}})

    result = world.client("http://service", transport=httpx.MockTransport(take)).workspace("w").sync(tmp_path)
    assert (puts, [each.path for each in result.left_out]) == (["a.md"], ["key.md"])


def test_a_document_that_cannot_be_read_or_is_refused_is_left_out_and_blocks_nothing(aptix: Any) -> None:
    workspace = aptix.workspace(new_id("refused"))

    def gone() -> str:
        raise FileNotFoundError("gone.md")

    workspace.sync([{"Path": "gone.md", "Contents": "It was here."}])
    wrong = ["src\\a.rs" if os.sep == "/" else "a\u202e.rs", "/etc/passwd", "src/", "../up"]
    documents: Any = [
        {"Path": "good.md", "Contents": "Good."},
        *({"Path": path, "Contents": "x"} for path in wrong),
        {"Path": "gone.md", "Contents": gone},
        {"Path": "half.md", "Contents": "\ud800"},
        {"Path": "odd.md", "Contents": "Odd.", "Properties": {"a": 1}},
    ]
    result = workspace.sync(documents, remove=True)
    assert (result.sent, result.removed) == (["good.md"], []), "what the index has of a document that is left out stays"
    reasons = {each.path: each.reason for each in result.left_out}
    expected = {
        **dict.fromkeys(wrong, "refused"),
        "gone.md": "unreadable",
        "half.md": "unreadable",
        "odd.md": "refused",
    }
    assert reasons == expected
    refusal = next(each.error for each in result.left_out if each.path == "/etc/passwd")
    assert isinstance(refusal, AptixError)
    assert refusal.code == "invalid_field"
    assert str(refusal).startswith("Path "), "its place in a request tells nobody anything"
    assert workspace.get()["Documents"] == 2


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for path, contents in files.items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(contents if isinstance(contents, bytes) else contents.encode())


def test_of_a_folder_the_text_that_people_write_is_sent_once_and_the_rest_is_counted(
    aptix: Any, tmp_path: Path
) -> None:
    write(
        tmp_path,
        {
            "README.md": "# Ä\r\n",
            "src/main.py": "print()\n",
            "src/ключ.txt": "other alphabets\n",
            "src/gen.py": "# Code generated by hand. DO NOT EDIT.\n",
            "src/app.min.js": "x",
            "src/long.js": "x" * 6000,
            "Cargo.lock": "lock",
            "node_modules/a/index.js": "built",
            ".git/config": "hidden",
            ".env": "TOKEN=1\n",
            ".gitignore": "\ufeff*.log\n/private/\n!.env.example\n!.env\n!.git/\n!/*/\n/private/\n",
            ".env.example": "shown by a rule\n",
            "a.log": "ignored",
            "private/a.txt": "ignored",
            "deep/.gitignore": "!keep.log\n*.txt\n",
            "deep/keep.log": "kept by the nearer rule\n",
            "deep/b.txt": "ignored",
            "deep/.aptixignore": "c.md\n",
            "deep/c.md": "ignored",
            "logo.png": b"\x89PNG\0\0",
            "latin.txt": "é".encode("latin-1"),
            "empty.txt": " \n",
            "key.txt": "-----BEGIN RSA PRIVATE KEY-----\n",
            "id_rsa": "x",
            "big.txt": "x" * 5000,
        },
    )
    (tmp_path / "circle").symlink_to(tmp_path, target_is_directory=True)
    (tmp_path / "outside.txt").symlink_to("/etc/hostname")
    workspace = aptix.workspace(new_id("folder"))
    result = workspace.sync(tmp_path, remove=True, max_file_bytes=4999 + 1100)
    assert result.sent == sorted(
        [".env.example", "README.md", "big.txt", "deep/keep.log", "src/main.py", "src/ключ.txt"]
    )
    reasons = {each.path: each.reason for each in result.left_out}
    assert reasons == {
        ".env": "secret",
        ".git/": "hidden",
        ".gitignore": "hidden",
        "Cargo.lock": "lock",
        "a.log": "ignored",
        "circle": "link",
        "deep/.aptixignore": "hidden",
        "deep/.gitignore": "hidden",
        "deep/b.txt": "ignored",
        "deep/c.md": "ignored",
        "empty.txt": "empty",
        "id_rsa": "secret",
        "key.txt": "secret",
        "latin.txt": "binary",
        "logo.png": "binary",
        "node_modules/": "built",
        "outside.txt": "link",
        "private/": "ignored",
        "src/app.min.js": "generated",
        "src/gen.py": "generated",
        "src/long.js": "generated",
    }
    again = workspace.sync(str(tmp_path), remove=True, max_file_bytes=4000)
    assert (again.sent, again.removed) == ([], ["big.txt"])
    assert {each.path: each.reason for each in again.left_out}["big.txt"] == "large"
    with pytest.raises(NotADirectoryError):
        workspace.sync(tmp_path / "nowhere")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems permit no such names")
def test_a_name_that_is_not_utf_8_is_left_out(tmp_path: Path) -> None:
    (Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.txt"))).write_text("x")
    documents, left_out = _folder.folder_documents(tmp_path)
    assert (documents, [each.reason for each in left_out]) == ([], ["unreadable"])


def test_a_junction_of_windows_is_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, {"a/b.md": "x", "leads/away.md": "x"})

    class Found:
        def __init__(self, entry: os.DirEntry[str]) -> None:
            self.name, self.is_dir, self.is_file = entry.name, entry.is_dir, entry.is_file

        def stat(self, follow_symlinks: bool) -> Any:
            return SimpleNamespace(st_reparse_tag=_folder.JUNCTION if self.name == "leads" else 0)

    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda folder: map(Found, scandir(folder)))
    monkeypatch.setattr(sys, "platform", "win32")
    documents, left_out = _folder.folder_documents(tmp_path)
    monkeypatch.undo()
    assert [each["Path"] for each in documents] == ["a/b.md"]
    assert [(each.path, each.reason) for each in left_out] == [("leads", "link")]


KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n"


def test_rules_above_a_folder_and_of_its_repository_hold_and_a_broad_rule_takes_no_secret_back(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            ".git/HEAD": "ref: refs/heads/main\n",
            ".git/config": "url = https://user:tok3n@example.com/x.git\n",
            ".git/info/exclude": "*.tmp\n",
            ".gitignore": "/*\n!/*/\nsecrets/\n",
            "app/.aptixignore": "!.env\n!.*\n!*.env\n!.github/\n",
            "app/a.md": "taken",
            "app/a.tmp": "ignored by the repository",
            "app/secrets/k.md": "ignored above",
            "app/.env": "TOKEN=1",
            "app/prod.env": "TOKEN=1",
            "app/.github/ci.yml": "spelled",
            "app/.config/a.md": "hidden",
            "app/account.json": json.dumps({"private_key": KEY}),
            "app/bundle.crt": f"# The certificate\n\n{KEY}",
            "app/node_modules/a.md": "built",
        },
    )

    def taken(folder: Path, *include: str) -> list[str]:
        return [each["Path"] for each in _folder.folder_documents(folder, include=include)[0]]

    inside = [".github/ci.yml", "a.md"]
    assert taken(tmp_path / "app") == inside
    assert taken(tmp_path) == [f"app/{each}" for each in inside]
    assert taken(tmp_path / "app", "prod.env", "bundle.crt", ".git/") == [*inside, "bundle.crt", "prod.env"]
    one = _folder.folder_documents(tmp_path / "app", include="*.crt")[0]
    assert [each["Path"] for each in one] == [*inside, "bundle.crt"], "one pattern, and none of each character"
    reasons = {each.path: each.reason for each in _folder.folder_documents(tmp_path / "app")[1]}
    assert [path for path, reason in reasons.items() if reason == "secret"] == [
        ".env",
        "account.json",
        "bundle.crt",
        "prod.env",
    ]
    assert taken(tmp_path / "app/secrets") == []
    os.mkfifo(tmp_path / "app/.gitignore")
    assert taken(tmp_path / "app") == inside


def test_a_rule_fits_a_name_as_macos_keeps_it_with_its_accents_by_themselves() -> None:
    name = "a/Vertra\u0308ge/".encode()
    fitting = [GitRules("Verträge/".encode(), folds_case=folds).of(name) for folds in (True, False)]
    assert [rule is not None for rule in fitting] == [True, False]
    # A rule that is written so leaves out, and takes nothing back in that git leaves out.
    written = [GitRules(f"{mark}Vertra\u0308ge/".encode(), folds_case=True).of(name) for mark in ("", "!")]
    assert [rule is not None for rule in written] == [True, False]


@pytest.mark.skipif(not FOLDER_TS.exists(), reason="the TypeScript client has no such rules")
def test_the_rules_on_names_are_those_of_the_typescript_client() -> None:
    text = FOLDER_TS.read_text("utf-8")
    names = [rule for rules in _folder.BY_NAME.values() for rule in rules.split()]
    for rule in [*names, *_folder.SECRET]:
        assert rule.rstrip("/") in text or rule.split(".")[-1] in text.split("const DATA")[1], rule
    for key in [*_folder.KEYS, *_folder.JWK]:
        assert key.replace("(?m:", "").rstrip(")").replace(r"\Z", "$") in text, key


def test_a_text_is_looked_through_for_keys_in_a_time_in_proportion_to_its_length() -> None:
    began = time.process_time()
    assert _folder._reason_of_text("long.txt", b'"kty":' * 20_000, False) is None
    assert time.process_time() - began < 0.5
    assert _folder._reason_of_text("key.txt", b'{"d":"0123456789abcdef","x":["\n"],"kty":"EC"}', False) == "secret"
