"""The upstream engine: endpoints, pools, failsafe, batching (design section 6).

`Pool` (JSON-RPC) and `RestPool` (GET, POST) are what the chain families use; `CallPolicy`,
`Reply`, `ErrorTable`, `Classified` and `Verdict` are their terms.
"""

from server.upstream.connector import CallPolicy, ProbeResult, Reply
from server.upstream.headers import Ask, Header
from server.upstream.heads import HeadGrowth
from server.upstream.identity import IdentityCheck
from server.upstream.polling import HeadQuery
from server.upstream.pool import Pool
from server.upstream.rest import NOT_MODIFIED, RestPool, Validators, validators_of
from server.upstream.transport import open_session
from server.upstream.verdicts import Classified, ErrorTable, Verdict

__all__ = [
    "Pool",
    "RestPool",
    "CallPolicy",
    "Reply",
    "ProbeResult",
    "ErrorTable",
    "Classified",
    "Verdict",
    "IdentityCheck",
    "Ask",
    "Header",
    "HeadGrowth",
    "HeadQuery",
    "open_session",
    "NOT_MODIFIED",
    "Validators",
    "validators_of",
]
