import { useEffect, useRef } from "preact/hooks";
import { hashOf } from "../../app/routes.ts";
import { group, short } from "../../format/figures.ts";
import { latency } from "../../format/times.ts";
import { printExact } from "../../gateway/exact.ts";
import { useStore } from "../../store.ts";
import { Badge, type Tone } from "../../ui/Badge.tsx";
import { Sparkline } from "../../ui/Sparkline.tsx";
import { Text } from "../../ui/Text.tsx";
import type { Block, Chain, Head, State } from "./board.ts";
import type { Feed } from "./feed.ts";
import { age, blockTime, blockTimes, hasEnded, isReorganised, reasonWords, rhythm, rhythmWords, STATE_WORDS } from "./figures.ts";

export const TONES: Readonly<Record<State, Tone>> = { ok: "good", degraded: "warn", down: "bad", unknown: "idle" };

/** One chain: its state, its head, and the button that begins to follow it. */
export function ChainRow({ chain, feed, isPolled, clockOffset, observer }: { chain: Chain; feed: Feed; isPolled: boolean; clockOffset: number; observer: IntersectionObserver }) {
  const row = useRef<HTMLTableRowElement>(null);
  const { slug, head, stream, state } = chain;
  useEffect(() => {
    const element = row.current;
    if (element === null) return;
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      feed.see(slug, false);
    };
  }, [slug, observer, feed]);
  const rest = useStore(feed.rest);
  const isFollowed = stream === "live" || stream === "stalled" || stream === "starting" || (isPolled && chain.askedAt !== undefined);
  return (
    <tr ref={row} role="row" data-chain={slug} class={state === "unknown" ? "idle" : ""}>
      <th scope="row" role="rowheader">
        <a href={hashOf("getChainHealth", { chain: slug })}>{slug}</a> <span class="kind">{chain.kind ?? ""}</span>
      </th>
      <td role="cell" class="state">
        <Condition chain={chain} feed={feed} isFollowed={isFollowed} />
      </td>
      <td role="cell" class="head">
        {head === undefined ? <Missing what="head" /> : <HeadOf slug={slug} head={head} />}
      </td>
      <td role="cell" class="age number" data-label="age">
        {head === undefined ? <Missing what="age" /> : <Age head={head} feed={feed} clockOffset={clockOffset} />}
      </td>
      <td role="cell" class="latency number" data-label="latency">
        {chain.latencyMs === undefined ? <Missing what="latency" /> : latency(chain.latencyMs)}
      </td>
      <td role="cell" class="rhythm">
        <Rhythm blocks={chain.blocks} />
      </td>
      <td role="cell" class="action">
        {isFollowed ? (
          <span class="faint">{stream === "starting" ? "opening" : isPolled ? "polled" : "followed"}</span>
        ) : (
          <button
            type="button"
            class="small"
            aria-label={`Look at ${slug}`}
            disabled={rest !== "running"}
            onClick={() => {
              feed.look([slug]);
              row.current?.querySelector("a")?.focus({ preventScroll: true }); // the button goes
            }}
          >
            Look
          </button>
        )}
      </td>
    </tr>
  );
}

function Condition({ chain, feed, isFollowed }: { chain: Chain; feed: Feed; isFollowed: boolean }) {
  const { state, reason, stream, failure, askFailure } = chain;
  return (
    <>
      <Badge tone={TONES[state]}>{STATE_WORDS[state]}</Badge>{" "}
      {reason !== undefined && (
        <span class="why">
          <Text most={60}>{reasonWords(reason)}</Text>
        </span>
      )}{" "}
      {stream === "stalled" && <Badge tone="warn">stalled</Badge>} {chain.reorganisedAt !== undefined && <Reorganised chain={chain} feed={feed} />}{" "}
      {hasEnded(chain) && (
        <span class="why">
          <Badge tone="bad">stream ended</Badge> <strong>{failure?.reason}</strong> <Text most={120}>{failure?.message ?? ""}</Text>
        </span>
      )}{" "}
      {askFailure !== undefined && (
        <span class="why">
          <strong>{askFailure.reason}</strong> <Text most={120}>{`health not read: ${askFailure.message}`}</Text>
        </span>
      )}{" "}
      {!isFollowed && stream === "none" && chain.head !== undefined && <span class="why">not followed now</span>}
    </>
  );
}

/** Goes away by itself a minute later. */
function Reorganised({ chain, feed }: { chain: Chain; feed: Feed }) {
  return isReorganised(chain, useStore(feed.clock)) ? <Badge tone="warn">reorganised</Badge> : null;
}

function HeadOf({ slug, head }: { slug: string; head: Head }) {
  return (
    <>
      <a href={hashOf("getBlockByNumber", { items: printExact([{ chain: slug, block: head.number }]) })}>{group(head.number)}</a>{" "}
      {head.hash !== undefined && (
        <span class="hash" title={head.hash}>
          <Text mono>{short(head.hash)}</Text>
        </span>
      )}
    </>
  );
}

function Age({ head, feed, clockOffset }: { head: Head; feed: Feed; clockOffset: number }) {
  return <>{age(head, useStore(feed.clock), clockOffset)}</>;
}

const Missing = ({ what }: { what: string }) => (
  <span class="faint">
    <span aria-hidden="true">–</span>
    <span class="hidden">no {what} yet</span>
  </span>
);

function Rhythm({ blocks }: { blocks: readonly Block[] }) {
  const found = rhythm(blocks);
  if (found === undefined) return <Missing what="block time" />;
  return (
    <span class="rhythm-line" title={rhythmWords(found)}>
      <Sparkline values={blockTimes(blocks).map((time) => time.seconds)} range={[0, 2 * found.average]} width={160} />
      <span aria-hidden="true">{blockTime(found.average)}</span>
      <span class="hidden">{rhythmWords(found)}</span>
    </span>
  );
}
