import { useEffect, useState } from "preact/hooks";
import { count } from "../../format/figures.ts";
import { duration, moment } from "../../format/times.ts";
import { isDemo, key } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { Badge, type Tone } from "../../ui/Badge.tsx";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { Text } from "../../ui/Text.tsx";
import { BlockTimes } from "./BlockTimes.tsx";
import { counts, isKnown, STATES, type Board, type State } from "./board.ts";
import { ChainRow, TONES } from "./ChainRow.tsx";
import { Feed } from "./feed.ts";
import { STATE_WORDS } from "./figures.ts";
import { KINDS } from "./kinds.ts";
import "./chains.css";

const COLUMNS = ["Chain", "State", "Head", "Age", "Latency", "Block time", "Follow"] as const;

/** The board of all chains. */
export default function Chains() {
  const [feed] = useState(() => new Feed());
  useEffect(() => feed.start(), [feed]);
  const board = useStore(feed.board);
  const failure = useStore(feed.failure);
  return (
    <>
      <h1>Chains</h1>
      <Announcements feed={feed} />
      {failure !== undefined && <FailureNotice failure={failure} />}
      <Rest feed={feed} isAlone={board.chains.length === 0} />
      <Limits isPolled={board.isPolled && failure === undefined} />
      {board.chains.length > 0 ? <Rows feed={feed} board={board} /> : failure === undefined && <Loading what="the chains" />}
    </>
  );
}

function Announcements({ feed }: { feed: Feed }) {
  return (
    <p class="hidden" role="status" aria-live="polite" aria-label="Announcements">
      {useStore(feed.announcement)}
    </p>
  );
}

function Rest({ feed, isAlone }: { feed: Feed; isAlone: boolean }) {
  const rest = useStore(feed.rest);
  if (rest === "running") return null;
  return (
    <div class="notice warn" role="status" aria-label="Paused">
      <strong>Paused</strong> {rest === "untouched" ? "as nothing was touched for ten minutes" : "by you"}: the figures are of {moment(feed.clock.get())} UTC, and nothing is read.
      {isAlone && <RestButton feed={feed} />}
    </div>
  );
}

/** One button for both, so that it keeps the focus. */
function RestButton({ feed }: { feed: Feed }) {
  const isRunning = useStore(feed.rest) === "running";
  return (
    <button id="board-rest" type="button" class={isRunning ? "" : "main"} onClick={() => (isRunning ? feed.pause() : feed.goOn())}>
      {isRunning ? "Pause" : "Go on"}
    </button>
  );
}

function Limits({ isPolled }: { isPolled: boolean }) {
  useStore(key);
  return (
    <>
      {isDemo() && (
        <Notice>
          Without a key there is one stream for an address and a request a second: the board reads the states every 10 s and looks at one chain at a time.
        </Notice>
      )}
      {isPolled && <Notice tone="warn">The gateway opens no socket here: heads are read {isDemo() ? "every 10 s at most" : "every 5 s"}, without hashes and block times.</Notice>}
    </>
  );
}

function Rows({ feed, board }: { feed: Feed; board: Board }) {
  const [state, setState] = useState<State | undefined>();
  const [kind, setKind] = useState("");
  useStore(key);
  const shown = board.chains.filter((chain) => (state === undefined || chain.state === state) && (kind === "" || chain.kind === kind));
  const idle = board.chains.filter((chain) => !isKnown(chain)).map((chain) => chain.slug);
  const rest = useStore(feed.rest);
  const observer = useObserver(feed);
  return (
    <>
      <div class="board-bar">
        <States board={board} chosen={state} choose={setState} />
        <label class="board-kind">
          Family{" "}
          <select value={kind} onChange={(event) => setKind(event.currentTarget.value)}>
            <option value="">all</option>
            {KINDS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <div class="board-actions">
          {!isDemo() && idle.length > 0 && (
            <>
              <span class="faint" id="look-cost">
                {count(idle.length, "unit")} + streams
              </span>
              <button
                type="button"
                aria-describedby="look-cost"
                disabled={rest !== "running"}
                onClick={() => {
                  feed.look(idle);
                  document.getElementById("board-rest")?.focus(); // the button goes
                }}
              >
                Look at all
              </button>
            </>
          )}
          <RestButton feed={feed} />
        </div>
      </div>
      <div class="card board-card">
        <table class="board" role="table">
          <caption class="hidden">Chains</caption>
          <thead role="rowgroup">
            <tr role="row">
              {COLUMNS.map((name) => (
                <th key={name} scope="col" role="columnheader" class={CLASSES[name]}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody role="rowgroup">
            {shown.map((chain) => (
              <ChainRow key={chain.slug} chain={chain} feed={feed} isPolled={board.isPolled} clockOffset={board.clockOffset} observer={observer} />
            ))}
          </tbody>
        </table>
        {shown.length === 0 && <p class="faint">No chain is both of this state and of this family.</p>}
      </div>
      <p class="faint board-foot">
        Gateway <Text most={40}>{board.version ?? ""}</Text>, up {duration((board.uptimeSeconds ?? 0) * 1000)}. An idle chain is one that nothing has used since the gateway started: its nodes are
        asked nothing until you look. A look is a unit and reads its nodes once a minute; its stream is a unit for 100 blocks.
      </p>
      <BlockTimes chains={board.chains} />
    </>
  );
}

const CLASSES: Readonly<Record<(typeof COLUMNS)[number], string>> = {
  Chain: "chain",
  State: "state",
  Head: "head",
  Age: "age number",
  Latency: "latency number",
  "Block time": "rhythm",
  Follow: "action",
};

function States({ board, chosen, choose }: { board: Board; chosen: State | undefined; choose: (state: State | undefined) => void }) {
  const of = counts(board.chains);
  return (
    <div class="board-states" role="group" aria-label="States">
      <button type="button" class="quiet" aria-pressed={chosen === undefined} onClick={() => choose(undefined)}>
        <b>{board.chains.length}</b> chains
      </button>
      {STATES.map((state) => {
        const tone: Tone = of[state] === 0 ? "plain" : TONES[state];
        return (
          <button key={state} type="button" class="quiet" aria-pressed={chosen === state} onClick={() => choose(chosen === state ? undefined : state)}>
            <b>{of[state]}</b> <Badge tone={tone}>{STATE_WORDS[state]}</Badge>
          </button>
        );
      })}
    </div>
  );
}

/** Returns what tells the feed which rows are in view. */
function useObserver(feed: Feed): IntersectionObserver {
  const [observer] = useState(
    () =>
      new IntersectionObserver((entries) => {
        for (const { target, isIntersecting } of entries) feed.see((target as HTMLElement).dataset["chain"] ?? "", isIntersecting);
      }),
  );
  useEffect(() => () => observer.disconnect(), [observer]);
  return observer;
}
