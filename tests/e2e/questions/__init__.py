"""One question for every working operation, and questions that must be refused, asked of the devnet over both faces.

Each module here has lists `QUESTIONS` and `REFUSED`; some have `REFUSED_IN_JSON`: what a message cannot hold, or where
it means another thing. Their notes begin with the field at fault. A test notices when an operation has no question.
"""

from __future__ import annotations

import importlib
import pkgutil

from tests.e2e.questions.question import Question

__all__ = ["QUESTIONS", "REFUSED", "REFUSED_IN_JSON", "Question"]

_TOPICS = [
    importlib.import_module(f"{__name__}.{module.name}")
    for module in pkgutil.iter_modules(__path__)
    if module.name != "question"
]
QUESTIONS: list[Question] = [question for topic in _TOPICS for question in topic.QUESTIONS]
REFUSED: list[Question] = [question for topic in _TOPICS for question in topic.REFUSED]
REFUSED_IN_JSON: list[Question] = [question for topic in _TOPICS for question in getattr(topic, "REFUSED_IN_JSON", ())]
