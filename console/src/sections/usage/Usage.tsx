import { useState } from "preact/hooks";
import { UNITS } from "../../gateway/contract.ts";
import { DEMO, key } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { Notice } from "../../ui/Notice.tsx";
import { Part } from "../../ui/Part.tsx";
import type { Range } from "./pages.ts";
import { Breakdown } from "./Breakdown.tsx";
import { OverTime } from "./OverTime.tsx";
import { HOURS_KEPT_DAYS, lastDays, type Step } from "./series.ts";
import "./usage.css";

const RANGES = [1, 7, 30, HOURS_KEPT_DAYS] as const;

/** What the key of this tab has used: totals and plots over time, then by operation and by chain. */
export default function Usage() {
  const user = useStore(key);
  const [range, setRange] = useState<Range>(() => lastDays(7, new Date()));
  const [step, setStep] = useState<Step>("day");
  const [written, setWritten] = useState<Range>(range);
  const take = (next: Range) => {
    setWritten(next);
    if (isDay(next.from) && isDay(next.to)) setRange(next);
  };
  return (
    <div class="usage">
      <h1>Usage</h1>
      {user === DEMO ? (
        <NoAccount />
      ) : (
        <>
          <div class="row" role="group" aria-label="Range of usage">
            <label class="field">
              From, UTC
              <input type="date" value={written.from} max={written.to} onInput={(event) => take({ ...written, from: event.currentTarget.value })} />
            </label>
            <label class="field">
              To, UTC
              <input type="date" value={written.to} min={written.from} onInput={(event) => take({ ...written, to: event.currentTarget.value })} />
            </label>
            <label class="field">
              Added up by
              <select value={step} onChange={(event) => setStep(event.currentTarget.value === "hour" ? "hour" : "day")}>
                <option value="day">day</option>
                <option value="hour">hour</option>
              </select>
            </label>
            <span class="row">
              {RANGES.map((days) => (
                <button type="button" key={days} onClick={() => take(lastDays(days, new Date()))}>
                  {days === 1 ? "Today" : `${days} days`}
                </button>
              ))}
            </span>
          </div>
          <p class="faint">Each part costs {UNITS.getUsage} units for a page of 1 000 rows. Hours are kept for {HOURS_KEPT_DAYS} days, days for good; the last seconds are not in yet.</p>
          <Part id="time" name="Over time" units={UNITS.getUsage}>
            {() => <OverTime step={step} range={range} />}
          </Part>
          <Part id="operations" name="Operations" units={UNITS.getUsage}>
            {() => <Breakdown by="operation" range={range} />}
          </Part>
          <Part id="chains" name="Chains" units={UNITS.getUsage}>
            {() => <Breakdown by="chain" range={range} />}
          </Part>
        </>
      )}
    </div>
  );
}

const isDay = (text: string): boolean => /^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(text);

function NoAccount() {
  return (
    <Notice>
      <p>
        <strong>The demo has no account of its own:</strong> who goes without a key is counted together with all others, and the gateway answers
        getUsage with “the demo has no usage of its own; ask with an API key”. So nothing is asked here.
      </p>
      <p>
        An operator makes a key with <code>waypost keys create NAME</code>; enter it with the button at the top of the page, and its requests, units, errors and
        share of cached answers are shown here.
      </p>
    </Notice>
  );
}
