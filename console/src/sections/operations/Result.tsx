import { useState } from "preact/hooks";
import { count, group } from "../../format/figures.ts";
import { latency } from "../../format/times.ts";
import type { Facts, Outcome } from "../../gateway/calls.ts";
import { printExact } from "../../gateway/exact.ts";
import type { Failure } from "../../gateway/failure.ts";
import { Copy } from "../../ui/Copy.tsx";
import { Json } from "../../ui/Json.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";

/** What became of the last run. */
export type Run =
  | { readonly state: "none" }
  | { readonly state: "running" }
  | { readonly state: "stopped" }
  | { readonly state: "answered"; readonly outcome: Outcome; readonly facts: Facts; readonly turn: number }
  | { readonly state: "failed"; readonly failure: Failure };

const MOST_RAW = 200_000;

/** The answer of a call: its figures, and its data folded or as text. */
export function Answer({ name, run }: { name: string; run: Run }) {
  if (run.state === "none") return <p class="faint">Nothing was asked yet. Run asks the gateway, and its answer appears here.</p>;
  if (run.state === "running") return <Loading what={`the answer of ${name}`} />;
  if (run.state === "stopped") return <p class="faint">Stopped before the answer came.</p>;
  if (run.state === "failed") return <FailureNotice failure={run.failure} />;
  const { outcome, facts } = run;
  return (
    <>
      <FactList facts={facts} />
      {outcome.ok ? <Data key={run.turn} data={outcome.data} /> : <FailureNotice failure={outcome.failure} />}
    </>
  );
}

function FactList({ facts: { milliseconds, cache, cost, requestId } }: { facts: Facts }) {
  const facts = [
    ["Time", latency(milliseconds)],
    ["Cache", cache],
    ["Cost", count(cost, "unit")],
    ["Request", requestId],
  ] as const;
  return (
    <dl class="op-facts">
      {facts.map(([name, value]) =>
        value === undefined ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{name === "Request" ? <code>{value}</code> : value}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function Data({ data }: { data: unknown }) {
  const [isRaw, setRaw] = useState(false);
  return (
    <>
      <div class="row op-tools">
        <button type="button" class="small" aria-pressed={isRaw} onClick={() => setRaw(!isRaw)}>
          Raw
        </button>
        <Copy text={() => printExact(data, 2)} of="the JSON" />
      </div>
      {isRaw ? (
        <RawText text={printExact(data, 2)} />
      ) : (
        <div class="json op-answer" role="group" tabIndex={0} aria-label="The answer's data">
          <Json value={data} />
        </div>
      )}
    </>
  );
}

function RawText({ text }: { text: string }) {
  return (
    <>
      <pre class="op-raw" role="group" tabIndex={0} aria-label="The answer as text">
        {visible(text.slice(0, MOST_RAW))}
      </pre>
      {text.length > MOST_RAW && <p class="faint">The first {group(MOST_RAW)} of {group(text.length)} characters; Copy takes all.</p>}
    </>
  );
}

const HIDDEN = /[\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
/** Returns JSON whose hidden characters are escapes, which mean the same. */
const visible = (json: string): string =>
  json.replace(HIDDEN, (found) => Array.from({ length: found.length }, (_, place) => `\\u${found.charCodeAt(place).toString(16).padStart(4, "0")}`).join(""));

/** Returns what is said when a run is over. */
export function announced(name: string, run: Run): string {
  if (run.state === "running") return `${name} runs`;
  if (run.state === "stopped") return "Stopped";
  if (run.state !== "answered" || !run.outcome.ok) return "";
  const { milliseconds, cache, cost } = run.facts;
  return `Answer of ${name} in ${latency(milliseconds)}${cache === undefined ? "" : `, cache ${cache}`}, ${count(cost, "unit")}`;
}
