# pragma version 0.4.3
# Stand-in for ENS's Universal Resolver: finds a name's resolver in the registry, wildcards included (ENSIP-10), asks it, and
# passes off-chain look-ups on as one batch (EIP-3668, ENSIP-21). Of reverse records it knows those of Ethereum (coin type 60)
# that lie on the chain; where the forward record lies off it, the check of it goes there.

interface Registry:
    def resolver(node: bytes32) -> address: view

struct Query:
    sender: address
    urls: DynArray[String[256], 8]
    data: Bytes[2048]

# What is needed when the answer of a look-up comes in. `primary` and what follows it belong to reverse look-ups.
struct Context:
    resolver: address
    offset: uint256
    is_extended: bool
    asked: bytes4
    callback: bytes4
    extra: Bytes[2048]
    gateways: DynArray[String[128], 4]
    primary: String[255]
    account: address
    reverse_resolver: address

struct Found:
    name: Bytes[1024]
    offset: uint256
    node: bytes32
    resolver: address
    extended: bool

REGISTRY: constant(address) = 0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e
SERVICE: constant(String[128]) = "https://ccip-v3.ens.xyz"
ADDR_REVERSE: constant(bytes32) = 0x91d1777781884d03a6757a803996e38de2a42967fb37eeaca72729271025a9e2
COIN_TYPE: constant(uint256) = 60
MAX_LABELS: constant(uint256) = 64

EXTENDED: constant(bytes4) = 0x9061b923  # resolve(bytes,bytes)
ADDR: constant(bytes4) = 0x3b3b57de
NAME: constant(bytes4) = 0x691f3431
RESOLVE_CALLBACK: constant(bytes4) = method_id("resolveCallback(bytes,bytes)", output_type=bytes4)
REVERSE_CALLBACK: constant(bytes4) = method_id("reverseCallback(bytes,bytes)", output_type=bytes4)
OFFCHAIN_LOOKUP: constant(bytes4) = 0x556f1830
HTTP_ERROR: constant(bytes4) = 0x01800152


@external
@view
def batchGateways() -> DynArray[String[128], 4]:
    return [SERVICE]


@external
@view
def requireResolver(name: Bytes[1024]) -> Found:
    context: Context = self._find(name, empty(bytes4), [SERVICE])
    return Found(
        name=name,
        offset=context.offset,
        node=self._node(name),
        resolver=context.resolver,
        extended=context.is_extended,
    )


@external
@view
def resolve(name: Bytes[1024], data: Bytes[1024]) -> (Bytes[8192], address):
    return self._resolve(name, data, [SERVICE])


@external
@view
def resolveWithGateways(
    name: Bytes[1024], data: Bytes[1024], gateways: DynArray[String[128], 4]
) -> (Bytes[8192], address):
    return self._resolve(name, data, gateways)


@external
@view
def reverse(account: Bytes[64], coin_type: uint256) -> (String[255], address, address):
    return self._reverse(account, coin_type, [SERVICE])


@external
@view
def reverseWithGateways(
    account: Bytes[64], coin_type: uint256, gateways: DynArray[String[128], 4]
) -> (String[255], address, address):
    return self._reverse(account, coin_type, gateways)


@external
@view
def resolveCallback(response: Bytes[8192], extra: Bytes[8192]) -> (Bytes[8192], address):
    context: Context = abi_decode(extra, Context)
    return self._take(response, context, RESOLVE_CALLBACK), context.resolver


@external
@view
def reverseCallback(response: Bytes[8192], extra: Bytes[8192]) -> (String[255], address, address):
    context: Context = abi_decode(extra, Context)
    result: Bytes[8192] = self._take(response, context, REVERSE_CALLBACK)
    self._check(result, context)
    return context.primary, context.resolver, context.reverse_resolver


@internal
@view
def _resolve(
    name: Bytes[1024], data: Bytes[1024], gateways: DynArray[String[128], 4]
) -> (Bytes[8192], address):
    context: Context = self._find(name, convert(slice(data, 0, 4), bytes4), gateways)
    return self._ask(name, data, context, RESOLVE_CALLBACK), context.resolver


@internal
@view
def _reverse(
    account: Bytes[64], coin_type: uint256, gateways: DynArray[String[128], 4]
) -> (String[255], address, address):
    if len(account) == 0:
        raw_revert(method_id("EmptyAddress()"))
    digits: Bytes[40] = self._hex(account)
    record: Bytes[1024] = concat(0x28, digits, 0x04, b"addr", 0x07, b"reverse", 0x00)
    node: bytes32 = keccak256(concat(ADDR_REVERSE, keccak256(digits)))
    if coin_type != COIN_TYPE or len(account) != 20:
        raw_revert(abi_encode(record, method_id=method_id("ResolverNotFound(bytes)")))
    context: Context = self._find(record, NAME, gateways)
    told: Bytes[8192] = self._ask(record, abi_encode(node, method_id=NAME), context, REVERSE_CALLBACK)
    context.primary = abi_decode(told, String[255])
    context.account = convert(convert(slice(account, 0, 20), bytes20), address)
    context.reverse_resolver = context.resolver
    if len(context.primary) == 0:
        return "", empty(address), context.reverse_resolver
    name: Bytes[1024] = self._encode(context.primary)
    forward: Context = self._find(name, ADDR, gateways)
    forward.primary = context.primary
    forward.account = context.account
    forward.reverse_resolver = context.reverse_resolver
    question: Bytes[1024] = abi_encode(self._node(name), method_id=ADDR)
    self._check(self._ask(name, question, forward, REVERSE_CALLBACK), forward)
    return forward.primary, forward.resolver, forward.reverse_resolver


@internal
@pure
def _check(result: Bytes[8192], context: Context):
    told: address = empty(address)
    if len(result) == 32:
        told = abi_decode(result, address)
    if told != context.account:
        packed: Bytes[20] = slice(convert(told, bytes32), 12, 20)
        raw_revert(
            abi_encode(context.primary, packed, method_id=method_id("ReverseAddressMismatch(string,bytes)"))
        )


@internal
@view
def _find(name: Bytes[1024], asked: bytes4, gateways: DynArray[String[128], 4]) -> Context:
    # The resolver of the name, or of the nearest name above it, which then has to know of names below.
    starts: DynArray[uint256, MAX_LABELS] = self._starts(name)
    nodes: DynArray[bytes32, MAX_LABELS] = self._nodes(name, starts)
    resolver: address = empty(address)
    depth: uint256 = 0
    for node: bytes32 in nodes:
        resolver = staticcall Registry(REGISTRY).resolver(node)
        if resolver != empty(address):
            break
        depth += 1
    if resolver == empty(address):
        raw_revert(abi_encode(name, method_id=method_id("ResolverNotFound(bytes)")))
    if not resolver.is_contract:
        raw_revert(abi_encode(name, resolver, method_id=method_id("ResolverNotContract(bytes,address)")))
    is_extended: bool = self._supports(resolver, EXTENDED)
    if depth > 0 and not is_extended:
        raw_revert(abi_encode(name, method_id=method_id("ResolverNotFound(bytes)")))
    context: Context = empty(Context)
    context.resolver = resolver
    context.offset = starts[depth]
    context.is_extended = is_extended
    context.asked = asked
    context.gateways = gateways
    return context


@internal
@view
def _ask(name: Bytes[1024], data: Bytes[1024], context: Context, mine: bytes4) -> Bytes[8192]:
    question: Bytes[4096] = data
    if context.is_extended:
        question = abi_encode(name, data, method_id=EXTENDED)
    success: bool = False
    answer: Bytes[8192] = b""
    success, answer = raw_call(
        context.resolver, question, max_outsize=8192, is_static_call=True, revert_on_failure=False
    )
    return self._judge(success, answer, context, mine)


@internal
@view
def _take(response: Bytes[8192], context: Context, mine: bytes4) -> Bytes[8192]:
    # The answer to the batch, which was one request.
    if len(response) < 192:
        raw_revert(method_id("InvalidBatchGatewayResponse()"))
    failures: DynArray[bool, 1] = []
    responses: DynArray[Bytes[4096], 1] = []
    failures, responses = abi_decode(response, (DynArray[bool, 1], DynArray[Bytes[4096], 1]))
    if len(failures) != 1 or len(responses) != 1:
        raw_revert(method_id("InvalidBatchGatewayResponse()"))
    if failures[0]:
        if len(responses[0]) > 4 and convert(slice(responses[0], 0, 4), bytes4) == HTTP_ERROR:
            raw_revert(responses[0])
        raw_revert(abi_encode(responses[0], method_id=method_id("ResolverError(bytes)")))
    success: bool = False
    answer: Bytes[8192] = b""
    success, answer = raw_call(
        context.resolver,
        concat(context.callback, abi_encode(responses[0], context.extra)),
        max_outsize=8192,
        is_static_call=True,
        revert_on_failure=False,
    )
    return self._judge(success, answer, context, mine)


@internal
@view
def _judge(success: bool, answer: Bytes[8192], context: Context, mine: bytes4) -> Bytes[8192]:
    if len(answer) == 0:
        raw_revert(abi_encode(context.asked, method_id=method_id("UnsupportedResolverProfile(bytes4)")))
    if success:
        if not context.is_extended:
            return answer
        return abi_decode(answer, Bytes[8128])
    if len(answer) > 4 and convert(slice(answer, 0, 4), bytes4) == OFFCHAIN_LOOKUP:
        self._look_up(slice(answer, 4, len(answer) - 4), context, mine)
    raw_revert(abi_encode(answer, method_id=method_id("ResolverError(bytes)")))


@internal
@view
def _look_up(lookup: Bytes[8192], context: Context, mine: bytes4):
    sender: address = empty(address)
    urls: DynArray[String[256], 8] = []
    data: Bytes[2048] = b""
    callback: bytes4 = empty(bytes4)
    extra: Bytes[2048] = b""
    sender, urls, data, callback, extra = abi_decode(
        lookup, (address, DynArray[String[256], 8], Bytes[2048], bytes4, Bytes[2048])
    )
    if sender != context.resolver:
        return
    following: Context = context
    following.callback = callback
    following.extra = extra
    queries: DynArray[Query, 1] = [Query(sender=sender, urls=urls, data=data)]
    raw_revert(
        abi_encode(
            self,
            context.gateways,
            abi_encode(queries, method_id=method_id("query((address,string[],bytes)[])")),
            mine,
            abi_encode(following),
            method_id=OFFCHAIN_LOOKUP,
        )
    )


@internal
@view
def _supports(resolver: address, wanted: bytes4) -> bool:
    success: bool = False
    answer: Bytes[32] = b""
    success, answer = raw_call(
        resolver,
        abi_encode(wanted, method_id=method_id("supportsInterface(bytes4)")),
        max_outsize=32,
        gas=30000,
        is_static_call=True,
        revert_on_failure=False,
    )
    return success and len(answer) == 32 and convert(answer, uint256) == 1


@internal
@pure
def _starts(name: Bytes[1024]) -> DynArray[uint256, MAX_LABELS]:
    # Where each label begins with its length.
    starts: DynArray[uint256, MAX_LABELS] = []
    at: uint256 = 0
    for _: uint256 in range(MAX_LABELS):
        if at >= len(name):
            break
        size: uint256 = convert(convert(slice(name, at, 1), bytes1), uint256)
        if size == 0:
            break
        starts.append(at)
        at += size + 1
    if at + 1 != len(name):
        raw_revert(abi_encode(name, method_id=method_id("DNSDecodingFailed(bytes)")))
    return starts


@internal
@pure
def _nodes(name: Bytes[1024], starts: DynArray[uint256, MAX_LABELS]) -> DynArray[bytes32, MAX_LABELS]:
    # The namehash of the name and of each name above it.
    nodes: DynArray[bytes32, MAX_LABELS] = []
    count: uint256 = len(starts)
    for _: uint256 in range(count, bound=MAX_LABELS):
        nodes.append(empty(bytes32))
    node: bytes32 = empty(bytes32)
    for i: uint256 in range(count, bound=MAX_LABELS):
        at: uint256 = starts[count - 1 - i]
        size: uint256 = convert(convert(slice(name, at, 1), bytes1), uint256)
        node = keccak256(concat(node, keccak256(slice(name, at + 1, size))))
        nodes[count - 1 - i] = node
    return nodes


@internal
@pure
def _node(name: Bytes[1024]) -> bytes32:
    return self._nodes(name, self._starts(name))[0]


@internal
@pure
def _encode(name: String[255]) -> Bytes[1024]:
    # DNS wire form of a name as text.
    encoded: Bytes[1024] = b""
    label: Bytes[255] = b""
    for i: uint256 in range(256):
        if i == len(name) or slice(name, i, 1) == ".":
            size: Bytes[1] = slice(convert(len(label), bytes32), 31, 1)
            encoded = convert(concat(encoded, size, label), Bytes[1024])
            label = b""
            if i == len(name):
                break
        else:
            label = convert(concat(label, convert(slice(name, i, 1), Bytes[255])), Bytes[255])
    return convert(concat(encoded, b"\x00"), Bytes[1024])


@internal
@pure
def _hex(account: Bytes[64]) -> Bytes[40]:
    digits: Bytes[16] = b"0123456789abcdef"
    text: Bytes[40] = b""
    for i: uint256 in range(20):
        if i >= len(account):
            break
        octet: uint256 = convert(convert(slice(account, i, 1), bytes1), uint256)
        text = convert(concat(text, slice(digits, octet // 16, 1), slice(digits, octet % 16, 1)), Bytes[40])
    return text
