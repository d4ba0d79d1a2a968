"""Key files, and what the command line shows with and without one."""

import asyncio
import base64
import itertools
import json
import stat
from pathlib import Path

from perdure import Client, Context, Definition, Failure, Retry
from perdure.aes_gcm import AesGcm, KeyRing
from tests.cli.conftest import Command

MARK = "secret-of-Müller"


async def test_keys_are_made_added_and_activated_and_never_printed(perdure: Command, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    made = await perdure("keys", "new", str(path), "--id", "2027-01")
    assert (made.code, made.out) == (0, f"{path}: 2027-01 (active)\n")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    first = KeyRing.from_json(path.read_text())
    assert (await perdure("keys", "add", str(path), "2027-02")).out == f"{path}: 2027-01 (active), 2027-02\n"
    assert (await perdure("keys", "activate", str(path), "2027-02")).out == f"{path}: 2027-01, 2027-02 (active)\n"
    ring = KeyRing.from_json(path.read_text())
    assert (ring.active, ring.keys["2027-01"], ring.digest_key) == ("2027-02", first.keys["2027-01"], first.digest_key)
    shown = await perdure("keys", "list", str(path))
    for key in ring.keys.values():
        assert base64.b64encode(key).decode() not in made.out + shown.out
    assert not list(await asyncio.to_thread(tmp_path.glob, ".*"))


async def test_keys_are_never_overwritten_or_guessed(perdure: Command, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text(KeyRing.new().to_json())
    before = path.read_text()
    for arguments, words in (
        (("new", str(path)), "exists"),
        (("add", str(path), "k1"), "has a key k1 already"),
        (("activate", str(path), "k7"), "'k7' is not among the keys: k1"),
        (("add", str(path), "no good"), "letters, digits"),
        (("list", str(tmp_path / "none")), "No such file"),
    ):
        refused = await perdure("keys", *arguments)
        assert (refused.code, refused.out) == (4, ""), arguments
        assert words in refused.err
    assert path.read_text() == before


async def test_values_are_shown_with_the_keys_and_named_as_encrypted_without(perdure: Command, address: str, tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    ring = KeyRing.new()
    path.write_text(ring.to_json())
    definition = Definition("note")

    @definition.step(retry=Retry(max_attempts=1))
    async def work(ctx: Context[None], input: dict[str, str]) -> str:
        ctx.frame(f"frame {input['name']}")
        if input["fails"]:
            raise Failure("note.bad", f"about {input['name']}")
        return input["name"]

    async with Client(address, codec=AesGcm(ring)) as client, client.worker(definition):
        for key, fails in (("good", ""), ("bad", "yes")):
            arguments = ("start", "note", key, "--input", json.dumps({"name": MARK, "fails": fails}), "--codec-keys", str(path))
            assert (await perdure(*arguments)).code == 0
        assert (await perdure("result", "note", "good", settings={"PERDURE_CODEC_KEYS": str(path)})).out == f'"{MARK}"\n'
        await perdure("result", "note", "bad")
        for verb, key in itertools.product(("show", "watch", "why"), ("good", "bad")):
            open_eyes = await perdure(verb, "note", key, "--codec-keys", str(path))
            blind = await perdure(verb, "note", key)
            assert (open_eyes.code, MARK in blind.out + blind.err) == (blind.code, False), (verb, key)
            assert verb == "why" or MARK in open_eyes.out, (verb, key)
            assert verb == "why" or "encrypted (aes-gcm, key k1)" in blind.out, (verb, key)
    refused = await perdure("result", "note", "good")
    assert (refused.code, refused.out) == (4, "")
    assert "encrypted (aes-gcm, key k1): this program has no codec named 'aes-gcm'" in refused.err
    wrong = await perdure("show", "note", "good", "--codec-keys", str(tmp_path / "none"))
    assert (wrong.code, wrong.out) == (4, "")
    assert "cannot be used" in wrong.err
