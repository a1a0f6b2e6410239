"""What is certain about the contracts behind the marketplace's published methods: where they stand, what they hold.

Published deployments stand at their canonical addresses; what the templates are tried on stands at addresses of ours.
"""

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak

from devnet import known

# Originals: OpenZeppelin's ERC-721, and the Safe of 1.4.1 and of 1.3.0 behind their own proxies.
COLLECTION = "0x35166996Fb97D516bdEc45bbEC48fFceBfcD9B56"
SAFE = "0x101C8eED07a1903DFeC6b4B1D1DF2baBa584EE5C"
OLD_SAFE = "0xBD60ce469d8Ad0C80C6Df72176795bC84200a68e"
SAFE_SINGLETON = "0x41675C099F32341bf84BFc5382aF534df5C7461a"
OLD_SAFE_SINGLETON = "0xd9Db270c1B5E3Bd161E8c8503c55cEABeE709552"

# Stand-ins.
STETH = "0xae7ab96520DE3A18E5e111B5EaAb095312D7fE84"
WSTETH = "0x7f39C581F595B53c5cb19bD0b3f8dA6c935E2Ca0"
LIDO_LOCATOR = "0xC1d0b3DE6792Bf6b4b37EccdcC24e45978Cfd2Eb"
WEETH = "0xCd5fE23C85820F7B72D0926FC9b05b43E359b7ee"
USDE = "0x4c9EDD5852cd905f086C759E8383e09bff1E68B3"
SUSDE = "0x9D39A5DE30e57443BfF2A8307A4256c8797A3497"
CBETH = "0xBe9895146f7AF43049ca1c1AE358B0541Ea49704"
RETH = "0xae78736Cd615f374D3085123A210448E74Fc6393"
SPOT_ORACLE = "0x00000000000D6FFc74A8feb35aF5827bf57f6786"
SPOT_ORACLE_CHAINS = ("arbitrum", "avalanche", "base", "bsc", "ethereum", "polygon")

SAFE_OWNERS = (known.DEVELOPER, known.ALICE)  # DEVELOPER alone may execute: the threshold is 1
TOKEN_IDS = (0, 1, 2)  # of COLLECTION; 0 and 1 are DEVELOPER's, 2 goes to BOB at EVENTS_AT
EVENTS_AT = 14  # the block, counted from the chain's first, that holds an event of every published kind

# What the sixteen getters of LIDO_LOCATOR answer, in the order of its interface.
LIDO_PLACES = {
    name: to_checksum_address(keccak(text=f"waypost devnet lido {name}")[-20:])
    for name in (
        *("accountingOracle", "depositSecurityModule", "elRewardsVault", "lido", "oracleReportSanityChecker", "burner"),
        *("stakingRouter", "treasury", "validatorsExitBusOracle", "withdrawalQueue", "withdrawalVault"),
        *("postTokenRebaseReceiver", "oracleDaemonConfig", "accounting", "wstETH", "vaultHub"),
    )
} | {"lido": STETH, "wstETH": WSTETH}
