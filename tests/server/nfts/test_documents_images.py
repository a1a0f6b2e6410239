"""The images that strangers' documents name: what may be handed out, and that everything else is none."""

from __future__ import annotations

import base64
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from server.nfts.documents import MAX_ADDRESS_CHARACTERS, MAX_IMAGE_CHARACTERS, parse_document, rewrite, show_image
from server.nfts.locations import Gateways

CID = "bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi"
TRANSACTION = "a" * 43
GATEWAYS = Gateways(["https://ipfs.example"], ["https://arweave.example"])
NONE = Gateways([], [])
SVG = "data:image/svg+xml"
XMLNS = 'xmlns="http://www.w3.org/2000/svg"'
DRAWING = f'<svg {XMLNS}><style>a{{}}</style><a href="https://x.example"><rect width="1"/></a></svg>'
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.parametrize(
    ("stated", "shown"),
    [
        ("https://host.example/a.png", "https://host.example/a.png"),
        ("  HTTP://host.example:8080/a?b#c\n", "HTTP://host.example:8080/a?b#c"),
        ("https://host.example/a b\"c<d>`e'.png", "https://host.example/a%20b%22c%3Cd%3E%60e%27.png"),
        ("https://host.example/bücher/é.png", "https://host.example/bücher/é.png"),
        ("https://host.example/@me", "https://host.example/@me"),
        (f"ipfs://{CID}/1.png", f"https://ipfs.example/ipfs/{CID}/1.png"),
        (CID, f"https://ipfs.example/ipfs/{CID}"),
        (f"ar://{TRANSACTION}/1.png", f"https://arweave.example/{TRANSACTION}/1.png"),
    ],
)
def test_addresses_are_shown_as_addresses(stated: str, shown: str) -> None:
    assert show_image(stated, GATEWAYS) == shown


@pytest.mark.parametrize("stated", [f"ipfs://{CID}/1.png", f"ipns://{CID}", f"ar://{TRANSACTION}"])
def test_without_a_gateway_addresses_stay_as_they_are(stated: str) -> None:
    assert show_image(stated, NONE) == stated


@pytest.mark.parametrize(
    "stated",
    [
        f"data:image/png;base64,{PNG}",
        f"data:image/jpeg;base64,{PNG}",
        f"data:image/gif;base64,{PNG}",
        f"data:IMAGE/WEBP;base64,{PNG}",
        f"data:image/avif;base64,{PNG}",
        f"{SVG};utf8,<svg/>",
        f"{SVG},{quote(DRAWING)}",
        f"{SVG};base64,{base64.b64encode(DRAWING.encode()).decode()}",
        f"{SVG},<svg {XMLNS} aria-label='metadata: none'><use href='#a'/><text>javascript: it is</text></svg>",
        f"{SVG},<svg {XMLNS}><image href='data:image/png;base64,{PNG}'/></svg>",
    ],
)
def test_pictures_that_hold_no_program_stay_as_they_are(stated: str) -> None:
    assert show_image(stated, GATEWAYS) == stated


@pytest.mark.parametrize(
    "stated",
    [
        "",
        "1.png",
        "/etc/passwd",
        "//host.example/1.png",
        "javascript:alert(1)",
        " JavaScript:alert(1)",
        "java\nscript:alert(1)",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://host.example/1",
        "ftp://host.example/1.png",
        "web3://0x1405DFC955AB436413284d2fe29F1744441312c6/1",
        "http:/host.example/1.png",
        "https://",
        "https:///1.png",
        "https:\\\\host.example\\1.png",
        "https://user:word@host.example/1.png",
        "https://host.example\\@evil.example/",
        "https://host.example/\x00.png",
        "https://host.example/" + "x" * MAX_ADDRESS_CHARACTERS,
        "<svg/>",
        '{"a":1}',
        "data:,",
        "data:text/html,<script>alert(1)</script>",
        "data:text/html;base64,PHNjcmlwdD4=",
        "data:application/xhtml+xml,<svg/>",
        f"data:image/png;base64,{PNG}!",
        "data:image/png;base64,",
        "data:image/png",
        "data:image/x-icon;base64,AAAA",
        f"data:image/png;base64,{'A' * MAX_IMAGE_CHARACTERS}",
    ],
)
def test_everything_else_is_no_image(stated: str) -> None:
    assert show_image(stated, GATEWAYS) is None


ACTIVE = [
    "<script>alert(1)</script>",
    "<SCRIPT/>",
    "<g xmlns:s='http://www.w3.org/2000/svg'><s:script/></g>",
    "<g onload='alert(1)'/>",
    "<g ONCLICK='alert(1)'/>",
    "<foreignObject><body xmlns='http://www.w3.org/1999/xhtml'/></foreignObject>",
    "<a href='javascript:alert(1)'/>",
    "<a href=' java&#10;script:alert(1)'/>",
    "<a href='&#x6a;avascript:alert(1)'/>",
    "<a xmlns:l='http://www.w3.org/1999/xlink' l:href='data:text/html,x'/>",
    "<a href='file:///etc/passwd'/>",
    "<use href='data:image/svg+xml,x#a'/>",
    "<use href='https://evil.example/a.svg#a'/>",
    "<set attributeName='href' to='javascript:alert(1)'/>",
    "<animate attributeName='href' values='#a;javascript:alert(1)'/>",
    "<?xml-stylesheet href='x'?>",
    "<iframe/>",
]


@pytest.mark.parametrize("inside", ACTIVE)
def test_a_drawing_that_could_act_is_no_image(inside: str) -> None:
    drawing = f"<svg {XMLNS}>{inside}</svg>"
    for stated in (
        f"{SVG},{drawing}",
        f"{SVG};utf8,{quote(drawing)}",
        f"{SVG};base64,{base64.b64encode(drawing.encode()).decode()}",
        f"{SVG};base64,{base64.b64encode(drawing.encode('utf-16')).decode()}",
    ):
        assert show_image(stated, GATEWAYS) is None
    # What the test is about is the inside alone.
    assert show_image(f"{SVG},<svg {XMLNS}></svg>", GATEWAYS) is not None


@pytest.mark.parametrize(
    "drawing",
    [
        '<!DOCTYPE svg [<!ENTITY a "<script/>">]><svg>&a;</svg>',
        "<!DOCTYPE svg><svg/>",
        "<svg",
        "<svg/><script/>",
        '<svg/>"><script>alert(1)</script>',
        "<html/>",
        "<svg xmlns='http://www.w3.org/1999/xhtml'/>",
        "no markup",
    ],
)
def test_what_is_no_drawing_is_no_image(drawing: str) -> None:
    assert show_image(f"{SVG},{drawing}", GATEWAYS) is None
    assert show_image(f"{SVG},{quote(drawing)}", GATEWAYS) is None


def test_a_document_keeps_its_other_members_whatever_its_image_is() -> None:
    document = rewrite(parse_document(b'{"name":"a","image":"javascript:alert(1)","b":"javascript:c"}'), GATEWAYS, None)
    assert (document.name, document.image, document.others) == ("a", None, b'{"b":"javascript:c"}')


@given(st.text())
def test_any_text_is_an_image_or_none(text: str) -> None:
    for stated in (text, f"https://{text}", f"data:{text}", f"{SVG},<svg {text}</svg>"):
        shown = show_image(stated, GATEWAYS)
        assert shown is None or shown.lower().startswith(
            ("http://", "https://", "ipfs://", "ipns://", "ar://", "data:")
        )
