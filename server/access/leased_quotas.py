"""Quotas that several processes share: counted by one source (Redis, or the parent of workers), used by leases.

A key in use takes units ahead (`server.access.leases`), so that its calls do not wait. Slow keys and the demo take
none: every charge asks the source. While the source does not answer, each process counts alone, at the rate divided by
the number of processes, from where the source last stood; what passes meanwhile is charged to the source once it is
back (docs/decisions/0044).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from runtime.logs import get_logger
from runtime.metrics import set_quota_degraded
from server.access.leases import Account
from server.access.quotas import Grant

if TYPE_CHECKING:
    from asyncio import Future, Task
    from collections.abc import Callable, Coroutine, Sequence

    from server.access.admission import Principal
    from server.access.leases import Take, Waiter

EXCHANGE_SECONDS = 0.05
"""How long one exchange with the source may take. After two in a row that fail each process counts alone."""

START_SECONDS = 1.0
"""How long the first answer may take, before anything is charged."""

BEAT_SECONDS = 0.5
"""How often the source is asked how many processes there are; twice as often while it does not answer."""

# Redis takes some tens of microseconds for each.
_PER_EXCHANGE = 128
_FAILURES = 2
_COUNTS = 6

T = TypeVar("T")
_log = get_logger("waypost.quotas")


class Source(Protocol):
    """Where quotas are counted. Both methods raise whatever comes when it cannot answer, and may take any time."""

    async def exchange(self, takes: Sequence[Take], seconds: float) -> Sequence[tuple[int, int]]:
        """Charge each and return what `Quotas.take` does; charge none where it would be later than in `seconds`."""
        ...

    async def count_processes(self) -> int:
        """Return how many processes share the source, this one included, which is thereby known to be alive."""
        ...

    async def close(self) -> None:
        """Give up the connection."""
        ...


class LeasedQuotas:
    """See `ChargesQuotas`. `replicas` is how many processes there are until the source states it."""

    def __init__(
        self, source: Source, *, replicas: int = 1, capacity: int = 100_000, clock: Callable[[], int] = monotonic_ns
    ) -> None:
        self._source = source
        self._replicas = replicas
        # One that starts empty learns of the processes one by one: the most of late is nearer the truth.
        self._counts: deque[int] = deque(maxlen=_COUNTS)
        self._capacity = capacity
        self._clock = clock
        self._accounts: OrderedDict[str, Account] = OrderedDict()
        self._pending: list[Account] = []
        self._exchanging: Task[None] | None = None
        self._beating: Task[None] | None = None
        self._late: set[Task[Any]] = set()
        # Failures in a row: after the first a single request waits for the next exchange, after two none does.
        self._failures = 0
        self.is_degraded = False
        set_quota_degraded(False)

    def __len__(self) -> int:
        return len(self._accounts)

    def charge(self, principal: Principal, units: int) -> Grant | Future[Grant]:
        """See `ChargesQuotas.charge`."""
        if principal.policy.unlimited:
            return Grant(units, 0, 0, 0)
        account = self._account(principal)
        now = self._clock()
        if account.units <= 0 or now >= account.expires:
            account.turn(now)
        account.wanted += units
        if 0 < account.units >= units:
            account.units -= units
            if account.units < account.refill_below and now >= account.ask_at and not account.next_units:
                self._ask(account)
            return account.view(units, now)
        if self.is_degraded or (self._failures and self._exchanging is not None):
            return account.charge_alone(units, now, self._replicas)
        if now < account.ask_at and not account.waiting:
            # The source has nothing for it yet: what is left of leases is all there is.
            return account.view(account.use(units), now)
        waiter: Future[Grant] = asyncio.get_running_loop().create_future()
        account.waiting.append((waiter, units))
        self._ask(account)
        return waiter

    def owe(self, principal: Principal, units: int) -> Grant:
        """See `ChargesQuotas.owe`."""
        if principal.policy.unlimited:
            return Grant(0, 0, 0, 0)
        account = self._account(principal)
        now = self._clock()
        account.turn(now)
        rest = units - account.use(units)
        if rest and (self.is_degraded or self._failures):
            return account.charge_alone(0, now, self._replicas, debt=rest)
        if rest:
            account.owe(rest, now)
            self._ask(account)
        return account.view(0, now)

    async def start(self) -> None:
        """See `ChargesQuotas.start`: the source is asked how many processes there are, at once and from then on.

        The first answer may take a second, as it connects; without one the process begins all the same.
        """
        with contextlib.suppress(Exception):
            self._learn(await self._in_time(self._source.count_processes(), START_SECONDS))
        self._beating = asyncio.create_task(self._beat())

    async def close(self) -> None:
        """See `ChargesQuotas.close`. Debts on their way are given the time of one exchange."""
        if self._beating is not None:
            self._beating.cancel()
        if self._exchanging is not None:
            await asyncio.wait((self._exchanging,), timeout=EXCHANGE_SECONDS)
        tasks = [task for task in (self._beating, self._exchanging, *self._late) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._source.close()

    def _account(self, principal: Principal) -> Account:
        accounts, name, policy = self._accounts, principal.id, principal.policy
        account = accounts.get(name)
        if account is None:
            self._make_room()
            account = accounts[name] = Account(name, policy)
            return account
        accounts.move_to_end(name)
        if account.policy is not policy and account.policy != policy:
            account.adopt(policy)
        return account

    def _make_room(self) -> None:
        """Drop two of the longest untouched: keeps the table near its live size without sweeping it whole."""
        accounts, now = self._accounts, self._clock()
        for _ in range(min(2, len(accounts))):
            oldest = next(iter(accounts.values()))
            if not oldest.is_idle(now) and len(accounts) < self._capacity:
                break
            del accounts[oldest.name]

    def _ask(self, account: Account) -> None:
        if not account.is_pending and not self.is_degraded:
            account.is_pending = True
            self._pending.append(account)
            if self._exchanging is None:
                self._exchanging = asyncio.get_running_loop().create_task(self._exchange())

    async def _exchange(self) -> None:
        """Exchange with the source until nothing is pending, one exchange at a time, each with all that has gathered.

        What gathers in one turn of the event loop leaves together.
        """
        try:
            answered = True
            while answered and self._pending and not self.is_degraded:
                batch, self._pending = self._pending[:_PER_EXCHANGE], self._pending[_PER_EXCHANGE:]
                answered = await self._exchange_once(batch)
        finally:
            # After a failure, or at the end of the process. Who waited behind it does not wait for the next.
            rest, self._pending = self._pending, []
            for account in rest:
                account.is_pending = False
                waiting, account.waiting = account.waiting, []
                self._answer_alone(account, waiting)
            self._exchanging = None

    async def _exchange_once(self, batch: Sequence[Account]) -> bool:
        """Exchange what the accounts need; return whether the source answered."""
        sent = self._clock()
        charges: list[tuple[Account, list[Waiter], Take]] = []
        for account in batch:
            waiting, take = account.draw_up(sent)
            if take is not None:
                charges.append((account, waiting, take))
        if not charges:
            return True
        try:
            takes = [take for _, _, take in charges]
            answers = await self._in_time(self._source.exchange(takes, EXCHANGE_SECONDS), EXCHANGE_SECONDS)
        except BaseException as error:
            now = self._clock()
            for account, waiting, take in charges:
                if take.debt:
                    # It may have been charged all the same, which errs on the low side.
                    account.charge_alone(0, now, self._replicas, debt=take.debt)
                self._answer_alone(account, waiting)
            if not isinstance(error, Exception):
                raise
            self._fail(error)
            return False
        self._failures = 0
        now = self._clock()
        for (account, waiting, take), answer in zip(charges, answers, strict=True):
            account.receive(waiting, take, answer, sent, now, self._replicas)
        return True

    def _answer_alone(self, account: Account, waiting: Sequence[Waiter]) -> None:
        now = self._clock()
        for waiter, units in waiting:
            if not waiter.done():
                waiter.set_result(account.charge_alone(units, now, self._replicas))

    async def _in_time(self, asking: Coroutine[Any, Any, T], seconds: float) -> T:
        """Return what the source answers. Raises TimeoutError when it takes too long, else whatever it raises."""
        # In a task that is left behind when it is late: a client's own way out of a cancelled call may take seconds.
        task = asyncio.get_running_loop().create_task(asking)
        try:
            await asyncio.wait((task,), timeout=seconds)
            for _ in range(3):
                # The answer may lie there already, where it is this process that was held up.
                if not task.done():
                    await asyncio.sleep(0)
        except asyncio.CancelledError:
            task.cancel()
            raise
        if not task.done():
            task.cancel()
            self._late.add(task)
            task.add_done_callback(self._drop_late)
            raise TimeoutError
        return task.result()

    def _drop_late(self, task: Task[Any]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()

    def _fail(self, error: Exception) -> None:
        self._failures += 1
        if self._failures < _FAILURES or self.is_degraded:
            return
        self.is_degraded = True
        set_quota_degraded(True)
        # The text of a connection error names host and port: the type is enough.
        _log.warning(
            "quotas are counted by each process alone: what counts them for all does not answer",
            failure=type(error).__name__,
            processes=self._replicas,
        )

    async def _beat(self) -> None:
        """Learn how many processes there are and whether the source answers; never returns."""
        while True:
            try:
                count = await self._in_time(self._source.count_processes(), EXCHANGE_SECONDS)
            except Exception as error:
                self._fail(error)
                await asyncio.sleep(BEAT_SECONDS / 2)
                continue
            self._learn(count)
            self._failures = 0
            if self.is_degraded:
                self._return()
            await asyncio.sleep(BEAT_SECONDS)

    def _learn(self, count: int) -> None:
        self._counts.append(count)
        self._replicas = max(1, *self._counts)

    def _return(self) -> None:
        self.is_degraded = False
        set_quota_degraded(False)
        _log.info("quotas are shared again", processes=self._replicas)
        for account in self._accounts.values():
            if account.own_arrival or account.debt:
                self._ask(account)
