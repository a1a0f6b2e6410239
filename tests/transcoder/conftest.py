"""Fixtures: one application over one scripted server for the whole session."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.transcoder.conversation import Conversation
from tests.transcoder.scripted import Face, Options, Server, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@pytest.fixture(scope="session")
async def shared_face() -> AsyncIterator[Face]:
    async with serving(Options(max_body_bytes=64 * 1024), Server()) as face:
        yield face


@pytest.fixture
def face(shared_face: Face) -> Face:
    """The face with default settings; its server starts every test afresh."""
    shared_face.server.reset()
    return shared_face


@pytest.fixture(autouse=True)
async def conversations() -> AsyncIterator[None]:
    """Ends the conversations that a test has had."""
    yield
    await Conversation.end_all()
