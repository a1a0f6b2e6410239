import { useEffect, useRef, useState } from "preact/hooks";
import { count, group } from "../../format/figures.ts";
import { call, callAll, type Outcome } from "../../gateway/calls.ts";
import { Failure } from "../../gateway/failure.ts";
import { Badge } from "../../ui/Badge.tsx";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { OutLink, Text } from "../../ui/Text.tsx";
import { Address } from "./Address.tsx";
import { attributesOf, idsOf, linksOf, MOST_TOKENS, type Metadata } from "./nft.ts";
import { inUnits, unitsOf, type Costs } from "./plan.ts";

interface TokenList {
  readonly tokenIds: readonly string[];
  readonly total: string;
  readonly capped: boolean;
}
interface Found {
  readonly chain: string;
  readonly contract: string;
  readonly ids: readonly string[];
  /** How many the wallet holds; undefined where the form named the tokens. */
  readonly list: TokenList | undefined;
}
interface Failed {
  readonly failure: Failure;
  /** How many the wallet holds, where that is all that the contract says. */
  readonly held: string | undefined;
}

/** NFTs of a collection that the user names: names, attributes and links; no picture is loaded. */
export function Nfts({ address, chains, costs }: { address: string; chains: readonly string[]; costs: Costs | undefined }) {
  const [chain, setChain] = useState(chains[0] ?? "");
  const [contract, setContract] = useState("");
  const [named, setNamed] = useState("");
  const [said, setSaid] = useState<{ readonly field: "contract" | "ids"; readonly words: string } | undefined>();
  const [found, setFound] = useState<Found | undefined>();
  const [failed, setFailed] = useState<Failed | undefined>();
  const [isReading, setReading] = useState(false);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  const read = async (signal: AbortSignal) => {
    const ids = idsOf(named);
    const at = contract.trim();
    setSaid(at === "" ? { field: "contract", words: "enter the address of a collection" } : ids === undefined ? { field: "ids", words: "token ids are whole numbers, parted by commas" } : undefined);
    setFound(undefined);
    setFailed(undefined);
    if (at === "" || ids === undefined) return;
    if (ids.length > 0) {
      setFound({ chain, contract: at, ids, list: undefined });
      return;
    }
    setReading(true);
    const params = { chain, contract: at, address };
    try {
      const list = await call<TokenList>("getNftTokens", params, signal);
      setFound({ chain, contract: at, ids: list.tokenIds, list });
    } catch (error) {
      if (signal.aborted) return;
      const failure = Failure.from(error);
      if (failure.field === "contract" && failure.reason !== "NOT_ENUMERABLE") setSaid({ field: "contract", words: failure.message });
      else if (failure.reason !== "NOT_ENUMERABLE") setFailed({ failure, held: undefined });
      else {
        const held = await call<{ balance: string }>("getNftBalance", params, signal).then(
          ({ balance }) => balance,
          () => undefined,
        );
        if (!signal.aborted) setFailed({ failure, held });
      }
    } finally {
      if (!signal.aborted) setReading(false);
    }
  };

  if (chains.length === 0)
    return (
      <section aria-label="NFTs">
        <h2>NFTs</h2>
        <p class="faint">NFTs are read on EVM chains alone.</p>
      </section>
    );
  return (
    <section aria-label="NFTs">
      <h2>NFTs</h2>
      <form
        class="card nft-form"
        onSubmit={(event) => {
          event.preventDefault();
          running.current?.abort();
          running.current = new AbortController();
          void read(running.current.signal);
        }}
      >
        <label>
          Chain
          <select value={chain} onChange={(event) => setChain(event.currentTarget.value)}>
            {chains.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="wide">
          Collection
          <input
            value={contract}
            onInput={(event) => setContract(event.currentTarget.value)}
            autocomplete="off"
            spellcheck={false}
            maxLength={4096}
            placeholder="0x…"
            aria-invalid={said?.field === "contract"}
            aria-describedby="nft-complaint"
          />
        </label>
        <label class="wide">
          Token ids (else those that the contract lists)
          <input
            value={named}
            onInput={(event) => setNamed(event.currentTarget.value)}
            autocomplete="off"
            inputMode="numeric"
            spellcheck={false}
            maxLength={4096}
            aria-invalid={said?.field === "ids"}
            aria-describedby="nft-complaint"
          />
        </label>
        <button type="submit" aria-describedby="nft-units">
          Read NFTs
        </button>
        <p id="nft-units" class="faint">
          {inUnits(unitsOf(["getNftTokens"], costs))} for the list, {inUnits(unitsOf(["getNftMetadata"], costs))} for each of at most {MOST_TOKENS} tokens at a time. No picture is loaded.
        </p>
        <p id="nft-complaint" class="complaint" role="alert">
          {said && <Text most={1000}>{said.words}</Text>}
        </p>
      </form>
      {isReading && <Loading what="the tokens" />}
      {failed && (
        <>
          <FailureNotice failure={failed.failure} />
          {failed.failure.reason === "NOT_ENUMERABLE" && (
            <Notice>
              {failed.held === undefined ? "How many tokens the wallet holds could not be read either." : `The wallet holds ${group(failed.held)} of it.`} Name the token ids above to read them.
            </Notice>
          )}
        </>
      )}
      {found && <Tokens key={`${found.chain} ${found.contract} ${found.ids.join()}`} found={found} address={address} costs={costs} />}
    </section>
  );
}

function Tokens({ found: { chain, contract, ids, list }, address, costs }: { found: Found; address: string; costs: Costs | undefined }) {
  const [most, setMost] = useState(MOST_TOKENS);
  const [outcomes, setOutcomes] = useState<ReadonlyMap<string, Outcome>>(new Map());
  const [turns, setTurns] = useState<readonly string[]>([]);
  const asked = useRef(new Set<string>());
  const leaving = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  useEffect(() => {
    const signal = leaving.current?.signal;
    if (signal === undefined) return;
    const next = ids.slice(0, most).filter((id) => !asked.current.has(id));
    for (const id of next) asked.current.add(id);
    callAll(
      next.map((tokenId) => ({ method: "getNftMetadata", params: { chain, contract, tokenId } })),
      (outcome, place) => {
        const id = next[place];
        if (id !== undefined && !signal.aborted) setOutcomes((before) => new Map(before).set(id, outcome));
      },
      { signal },
    ).catch(() => undefined); // aborted: the wallet or the collection is another
  }, [most, turns]);
  const again = (id: string) => {
    asked.current.delete(id);
    setOutcomes((before) => new Map([...before].filter(([one]) => one !== id)));
    setTurns((before) => [...before, id]);
  };
  const rest = Math.min(MOST_TOKENS, ids.length - most);
  const shown = ids.slice(0, most);
  return (
    <>
      <p role="status">
        {list !== undefined && `The wallet holds ${group(list.total)} of the collection${list.capped ? `; the gateway lists ${ids.length}` : ""}. `}
        {ids.length > 0 && `${count(shown.length, "token")} of ${ids.length} shown.`}
      </p>
      <ul class="grid nfts" aria-label="Tokens found">
        {shown.map((id) => {
          const outcome = outcomes.get(id);
          return (
            <li key={id} class="card">
              {outcome === undefined ? (
                <Loading what={`token ${id.slice(0, 24)}`} />
              ) : outcome.ok ? (
                <Token token={outcome.data as Metadata} address={address} />
              ) : (
                <>
                  <h3>
                    Token <Text most={24}>{id}</Text>
                  </h3>
                  <FailureNotice failure={outcome.failure} again={() => again(id)} />
                </>
              )}
            </li>
          );
        })}
      </ul>
      {rest > 0 && (
        <button type="button" onClick={() => setMost(most + MOST_TOKENS)}>
          Read {rest} more ({inUnits(unitsOf(Array<string>(rest).fill("getNftMetadata"), costs))})
        </button>
      )}
    </>
  );
}

function Token({ token: { tokenId, owner, metadata, metadataError }, address }: { token: Metadata; address: string }) {
  const name = metadata?.["name"];
  const attributes = metadata === null ? undefined : attributesOf(metadata);
  return (
    <>
      <h3>{typeof name === "string" && name !== "" ? <Text most={120}>{name}</Text> : <span class="faint">no name</span>}</h3>
      <p class="faint">
        Token <Text most={24}>{tokenId}</Text>,{" "}
        {owner === undefined ? (
          "of no single owner"
        ) : owner.toLowerCase() === address.toLowerCase() ? (
          "held by this wallet"
        ) : (
          <>
            held by <Address of="owner">{owner}</Address>
          </>
        )}
      </p>
      {metadata === null && (
        <p>
          <Badge tone="warn">no document</Badge> <Text most={400}>{metadataError ?? "the gateway does not say why"}</Text>
        </p>
      )}
      {metadata !== null && attributes !== undefined && (
        <>
          {attributes.total === 0 ? (
            <p class="faint">The document has no attributes.</p>
          ) : (
            <dl class="attributes">
              {attributes.shown.map((one, place) => (
                <div key={place}>
                  <dt>{one.name === "" ? "no name" : <Text most={60}>{one.name}</Text>}</dt>
                  <dd>
                    <Text most={160}>{one.value}</Text>
                  </dd>
                </div>
              ))}
            </dl>
          )}
          {attributes.total > attributes.shown.length && <p class="faint">{attributes.total - attributes.shown.length} more are not shown.</p>}
          {linksOf(metadata).map((link) => (
            <p key={link.name} class="link">
              {link.name}: <OutLink href={link.value} />
            </p>
          ))}
        </>
      )}
    </>
  );
}
