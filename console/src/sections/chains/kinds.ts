/** The kind of each chain of the contract's table: what is shown before a chain was looked at. Its health says it too. */
const SLUGS: Readonly<Record<string, string>> = {
  EVM: "ethereum polygon bsc optimism base avalanche arbitrum gnosis moonbeam linea hyperliquid berachain monad scroll plasma xlayer",
  SVM: "solana",
  UTXO: "bitcoin",
  "Cairo VM": "starknet",
  "Cosmos SDK": "cosmoshub osmosis axelar noble agoric",
};

export const KINDS: readonly string[] = Object.keys(SLUGS);
export const KIND_OF: ReadonlyMap<string, string> = new Map(
  Object.entries(SLUGS).flatMap(([kind, slugs]) => slugs.split(" ").map((slug): [string, string] => [slug, kind])),
);
