import { useEffect, useRef, useState } from "preact/hooks";
import { count } from "../../format/figures.ts";
import { Failure } from "../../gateway/failure.ts";
import { subscribe } from "../../gateway/socket.ts";
import { Copy } from "../../ui/Copy.tsx";
import { Json } from "../../ui/Json.tsx";
import { FailureNotice } from "../../ui/Notice.tsx";
import { printExact } from "../../gateway/exact.ts";

const MOST_KEPT = 100;
const DRAWN_EVERY = 200;
const SAID_EVERY = 10_000;

interface Event {
  readonly place: number;
  readonly at: string;
  readonly value: unknown;
}
export interface Stream {
  readonly state: "none" | "running" | "stopped" | "complete" | "failed";
  readonly events: readonly Event[];
  readonly total: number;
  readonly failure?: Failure;
}
const NONE: Stream = { state: "none", events: [], total: 0 };

/** Returns the last events of a watch, drawn a few times a second at most, and what begins and ends it. */
export function useWatch(name: string): { stream: Stream; start: (params: Readonly<Record<string, unknown>>) => void; stop: () => void } {
  const [stream, setStream] = useState<Stream>(NONE);
  const leave = useRef<(() => void) | undefined>(undefined);
  const end = () => {
    leave.current?.();
    leave.current = undefined;
  };
  const start = (params: Readonly<Record<string, unknown>>) => {
    end();
    let events: Event[] = [];
    let total = 0;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const draw = (state: Stream["state"], failure?: Failure) => {
      clearTimeout(timer);
      timer = undefined;
      setStream({ state, events, total, ...(failure && { failure }) });
    };
    draw("running");
    const unsubscribe = subscribe<unknown>(name, params, {
      event(value) {
        total += 1;
        events = [{ place: total, at: new Date().toISOString().slice(11, 23), value }, ...events.slice(0, MOST_KEPT - 1)];
        timer ??= setTimeout(() => draw("running"), DRAWN_EVERY);
      },
      end(failure) {
        leave.current = undefined;
        draw(failure === undefined ? "complete" : "failed", failure);
      },
    });
    leave.current = () => {
      unsubscribe();
      draw("stopped");
    };
  };
  useEffect(() => {
    setStream(NONE);
    return end;
  }, [name]);
  return { stream, start, stop: end };
}

/** The events of a watch, newest first. */
export function Events({ name, stream: { state, events, total, failure } }: { name: string; stream: Stream }) {
  const [said, setSaid] = useState("");
  const latest = useRef(total);
  latest.current = total;
  useEffect(() => {
    if (state === "none") return setSaid("");
    if (state !== "running") return setSaid(state === "failed" ? "" : `${name} ${state === "complete" ? "is complete" : "stopped"}, ${count(latest.current, "event")}`);
    setSaid(`${name} runs`);
    const timer = setInterval(() => setSaid(`${name} runs, ${count(latest.current, "event")}`), SAID_EVERY);
    return () => clearInterval(timer);
  }, [state, name]);
  return (
    <>
      <p class="hidden" role="status">
        {said}
      </p>
      {failure !== undefined && <FailureNotice failure={failure} />}
      {state === "none" ? (
        <p class="faint">Nothing is watched yet. Start opens the stream, and its events appear here, the newest first.</p>
      ) : (
        <p>
          <b>{count(total, "event")}</b>
          {total > MOST_KEPT && <span class="faint">, the last {MOST_KEPT} are here</span>}
          <span class="faint"> · {STATES[state]}</span>
        </p>
      )}
      <ol class="op-events" aria-label="Events, newest first">
        {events.map(({ place, at, value }) => (
          <li key={place}>
            <div class="row op-event-head">
              <span class="faint">
                #{place} · {at} UTC
              </span>
              <Copy text={() => printExact(value, 2)} of={`event ${place}`} />
            </div>
            <div class="json">
              <Json value={value} depth={1} />
            </div>
          </li>
        ))}
      </ol>
    </>
  );
}

const STATES: Readonly<Record<Exclude<Stream["state"], "none">, string>> = {
  running: "watching",
  stopped: "stopped",
  complete: "the stream is complete",
  failed: "ended with an error",
};
