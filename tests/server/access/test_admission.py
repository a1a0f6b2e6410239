from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from waypost_internal.v1.access_pb2 import AdmitRequest, GetReadinessRequest

from server.access.admission import LOCAL, Admission, ConcurrencyLimiter, Policy, decode
from server.access.directory import KeyDirectory
from server.access.quotas import Quotas
from server.access.service import AccessServicer
from server.access.usage import Usage
from server.errors import InvalidArgument, KeyInvalid, KeyMissing

if TYPE_CHECKING:
    from server.access.keys import KeyStore

DEFAULT = Policy("default", 50, 100)
DEMO = Policy("demo", 1, 1)
CONTEXT: Any = None


def admission_over(store: KeyStore, *, accepts_local: bool = False) -> Admission:
    limiter = ConcurrencyLimiter()
    return Admission(KeyDirectory(store), Quotas(), limiter, accepts_local=accepts_local, default=DEFAULT, demo=DEMO)


async def test_a_key_without_quota_has_the_default_one(store: KeyStore) -> None:
    number, key = await store.create_key("a")
    principal = await admission_over(store).identify(key)
    assert (principal.id, principal.policy) == (f"key:{number}", DEFAULT)


async def test_a_key_with_a_quota_has_its_own(store: KeyStore) -> None:
    admission = admission_over(store)
    _, both = await store.create_key("a", 5, 7)
    _, rate = await store.create_key("b", 5)
    _, burst = await store.create_key("c", None, 7)
    assert (await admission.identify(both)).policy == Policy("key", 5, 7)
    assert (await admission.identify(rate)).policy == Policy("key", 5, 100)
    assert (await admission.identify(burst)).policy == Policy("key", 50, 7)


async def test_missing_and_wrong_differ(store: KeyStore) -> None:
    admission = admission_over(store)
    with pytest.raises(KeyMissing):
        await admission.identify("")
    for text in ("x", "demo", "local", "LOCAL", "wp_" + "a" * 43):
        with pytest.raises(KeyInvalid):
            await admission.identify(text)


async def test_local_opens_the_devnet_alone(store: KeyStore) -> None:
    assert await admission_over(store, accepts_local=True).identify("local") is LOCAL
    with pytest.raises(KeyInvalid, match="devnet"):
        await admission_over(store).identify("local")


async def test_admit_charges_all_items_at_once(store: KeyStore) -> None:
    servicer = AccessServicer(admission_over(store), dict, Usage())
    _, key = await store.create_key("a", 1, 30)
    first = await servicer.Admit(AdmitRequest(api_key=key, items=20), CONTEXT)
    assert (first.admitted, first.remaining, first.limit, first.window_seconds, first.policy) == (20, 10, 30, 30, "key")
    second = await servicer.Admit(AdmitRequest(api_key=key, items=20), CONTEXT)
    assert (second.admitted, second.remaining) == (10, 0)
    assert 0 < second.retry_after_ms <= 1000
    principal = decode(second.principal)
    assert principal is not None
    assert principal.policy == Policy("key", 1, 30)


async def test_the_demo_is_limited_by_client(store: KeyStore) -> None:
    servicer = AccessServicer(admission_over(store), dict, Usage())
    for client in ("192.0.2.1", "192.0.2.2"):
        got = await servicer.Admit(AdmitRequest(demo=True, client_address=client, items=3), CONTEXT)
        assert (got.admitted, got.policy, got.limit, got.window_seconds) == (1, "demo", 1, 1)
        again = await servicer.Admit(AdmitRequest(demo=True, client_address=client, items=1), CONTEXT)
        assert (again.admitted, again.remaining) == (0, 0)


async def test_local_is_unlimited(store: KeyStore) -> None:
    servicer = AccessServicer(admission_over(store, accepts_local=True), dict, Usage())
    for _ in range(100):
        got = await servicer.Admit(AdmitRequest(api_key="local", items=50), CONTEXT)
        assert (got.admitted, got.limit, got.retry_after_ms) == (50, 0, 0)


@pytest.mark.parametrize("items", [101, 4_000_000_000])
async def test_admit_takes_at_most_a_hundred_items(store: KeyStore, items: int) -> None:
    servicer = AccessServicer(admission_over(store, accepts_local=True), dict, Usage())
    with pytest.raises(InvalidArgument, match="items"):
        await servicer.Admit(AdmitRequest(api_key="local", items=items), CONTEXT)


async def test_readiness_tells_what_is_known_of_the_chains(store: KeyStore) -> None:
    servicer = AccessServicer(admission_over(store), lambda: {"ethereum": "ok", "bitcoin": "unknown"}, Usage())
    assert not (await servicer.GetReadiness(GetReadinessRequest(), CONTEXT)).ready
    servicer.ready = True
    got = await servicer.GetReadiness(GetReadinessRequest(), CONTEXT)
    assert got.ready
    assert dict(got.chains) == {"ethereum": "ok", "bitcoin": "unknown"}


async def test_other_policies_hold_from_the_next_call_on(store: KeyStore) -> None:
    admission = admission_over(store)
    _, plain = await store.create_key("plain")
    _, own = await store.create_key("own", 5, 7)
    assert (await admission.identify(plain)).policy == DEFAULT
    faster = Policy("default", 500, 1000)
    admission.set_policies(default=faster, demo=Policy("demo", 2, 3))
    assert (await admission.identify(plain)).policy == faster
    assert (await admission.identify(own)).policy == Policy("key", 5, 7)
    assert admission.demo_client("192.0.2.1").policy == Policy("demo", 2, 3)
