"""Documents of strangers: what is taken, what is kept of it, what is refused."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.nfts.documents import MAX_DOCUMENT_BYTES, DocumentError, parse_document


@pytest.mark.parametrize(
    ("body", "name", "image", "others"),
    [
        (b"{}", None, None, b""),
        (b'{"name":"x","image":"y"}', "x", "y", b""),
        (b' \n{"image" : "y" , "a" : 1 }\t', None, "y", b'{"a":1}'),
        (b'\xef\xbb\xbf{"name":"marked"}', "marked", None, b""),
        (b'{"name":null,"image":null}', None, None, b""),
        (b'{"name":7,"image":{"url":"y"}}', "7", '{"url":"y"}', b""),
        (b'{"name":"x","image_url":"y"}', "x", "y", b'{"image_url":"y"}'),
        (b'{"image":"z","image_url":"y"}', None, "z", b'{"image_url":"y"}'),
        (b'{"name":"a","name":"b","c":1,"c":2}', "b", None, b'{"c":2}'),
        ('{"name":"\\u00fc \\ud83d\\ude00","é":"\\u0000"}'.encode(), "ü 😀", None, '{"é":"\\u0000"}'.encode()),
        (b'{"huge":' + b"9" * 5000 + b',"far":1e999}', None, None, None),
        (b'{"big":123456789012345678901234567890,"f":1.10,"e":1E5}', None, None, None),
        (b'{"nested":{"a":1,"a":[1, 2]}}', None, None, b'{"nested":{"a":1,"a":[1, 2]}}'),
    ],
)
def test_what_is_kept(body: bytes, name: str | None, image: str | None, others: bytes | None) -> None:
    document = parse_document(body)
    assert (document.name, document.image) == (name, image)
    assert document.others == (body if others is None else others)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b"", "no readable JSON object"),
        (b"null", "no readable JSON object"),
        (b"[]", "no readable JSON object"),
        (b'"text"', "no readable JSON object"),
        (b"<html></html>", "no readable JSON object"),
        (b'{"a":1', "no readable JSON object"),
        (b'{"a":1,}', "no readable JSON object"),
        (b"{'a':1}", "no readable JSON object"),
        (b'{"a":NaN}', "no readable JSON object"),
        (b'{"a":1}{"b":2}', "no readable JSON object"),
        (b'{"a":"\\ud800"}', "no readable JSON object"),
        (b'{"a":{"b":"\\q"}}', "no readable JSON object"),
        (b'{"a":"\n"}', "no readable JSON object"),
        (b'{"a":"\xff"}', "not UTF-8"),
        ('{"a":"ü"}'.encode("utf-16"), "not UTF-8"),
        (b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested more than 64 deep"),
        (b'{"a":' * 100_000, "nested more than 64 deep"),
        (b'{"a":"' + b"x" * MAX_DOCUMENT_BYTES + b'"}', f"longer than {MAX_DOCUMENT_BYTES} bytes"),
    ],
)
def test_what_is_refused(body: bytes, words: str) -> None:
    with pytest.raises(DocumentError, match=words):
        parse_document(body)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=20,
)


@given(st.dictionaries(st.one_of(st.text(), st.sampled_from(["name", "image", "image_url"])), JSON, max_size=6))
def test_nothing_but_name_and_image_is_taken_out(members: dict[str, object]) -> None:
    text = json.dumps(members)
    try:
        document = parse_document(text.encode())
    except DocumentError:
        assert "\\ud" in text  # half of a surrogate pair has no UTF-8
        return
    others = json.loads(document.others) if document.others else {}
    assert others == {name: value for name, value in members.items() if name not in ("name", "image")}
    if isinstance(members.get("name"), str):
        assert document.name == members["name"]


@given(st.binary(max_size=200))
def test_no_bytes_break_it(body: bytes) -> None:
    for text in (body, b'{"a":' + body + b"}", b'{"' + body + b'":1}'):
        try:
            document = parse_document(text)
        except DocumentError:
            continue
        json.loads(document.others or b"{}")
