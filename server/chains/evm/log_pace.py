"""How many blocks to ask for next, so that a page fills in few questions and no question asks for far too much."""

from __future__ import annotations

_GROWTH = 8
_SLACK = 1.2
_WIDEST = 4


class Pace:
    """The span of the next question in blocks, and how many questions may go out at once.

    It begins with `span`, grows by what the blocks held so far, and never exceeds `most`. Several questions go out at
    once only when the span can grow no further and the blocks are thin.
    """

    def __init__(self, span: int, most: int, limit: int) -> None:
        self.most = max(most, 1)
        self.span = min(max(span, 1), self.most)
        self.width = 1
        self._limit = limit

    def found(self, blocks: int, logs: int, missing: int) -> None:
        """Take note that `blocks` blocks held `logs` logs; `missing` more fill the page."""
        wanted = blocks * _GROWTH if logs == 0 else int(blocks * missing * _SLACK / logs) + 1
        self.span = max(1, min(wanted, max(self.span, blocks) * _GROWTH, self.most))
        is_thin = logs * self.width * 2 <= missing
        if not is_thin:
            self.width = 1
        elif self.span == self.most:
            self.width = min(self.width * 2, _WIDEST)

    def refused(self, blocks: int, advised: int | None) -> bool:
        """Take note that a question for `blocks` blocks was refused; return False if there is nothing smaller to ask.

        `advised` is what the refusal names; without it, or where it would not be less, half is tried. The
        page asks for no more than that again.
        """
        if blocks <= 1:
            return False
        smaller = advised if advised is not None and advised < blocks else blocks // 2
        self.span = max(1, min(smaller, blocks - 1))
        self.most = self.span
        self.width = 1
        return True
