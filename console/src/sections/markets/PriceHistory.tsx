import { useEffect, useMemo, useState } from "preact/hooks";
import { count, percent } from "../../format/figures.ts";
import { day } from "../../format/times.ts";
import { callAll } from "../../gateway/calls.ts";
import type { Failure } from "../../gateway/failure.ts";
import { key } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { Figures } from "../../ui/Figures.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { type Line, TimePlot } from "../../ui/TimePlot.tsx";
import { signed } from "./funding.ts";
import { type Currency, type DayLine, type History, historyLines, lineSummary, money } from "./prices.ts";
import { UNITS } from "../../gateway/contract.ts";

const RANGES = [7, 30, 90] as const;

/** The highest price of each day of the chosen tokens; of several their change, as one scale has no room for all. */
export function PriceHistory({ symbols }: { symbols: readonly string[] }) {
  const [days, setDays] = useState(30);
  const [currency, setCurrency] = useState<Currency>("USD");
  const { histories, failures, isLoading, again } = useHistories(symbols, days, currency);
  const { dates, times, lines } = useMemo(() => historyLines(histories, days, day(Date.now())), [histories, days]);
  const isCompared = lines.length > 1;
  const plotted = useMemo(
    () => lines.map((line, place): Line => ({ name: line.symbol, colour: place + 1, values: isCompared ? line.changes : line.prices })),
    [lines, isCompared],
  );
  const what = isCompared ? "change since the first day, in per cent" : `highest price of each day, ${currency}`;
  const rows = useMemo(() => dates.map((date, place) => ({ date, place })).reverse(), [dates]);
  const columns: readonly Column<{ date: string; place: number }>[] = [
    { name: "Day, UTC", by: ({ date }) => date, show: ({ date }) => date },
    ...lines.map((line): Column<{ date: string; place: number }> => ({
      name: `${line.symbol}, ${currency}`,
      isNumber: true,
      by: ({ place }) => line.prices[place] ?? undefined,
      show: ({ date, place }) => <DayPrice line={line} date={date} place={place} currency={currency} isLast={place === dates.length - 1} />,
    })),
  ];
  return (
    <div class="history">
      <div class="row">
        <label class="field">
          Range
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {RANGES.map((range) => (
              <option key={range} value={range}>
                {range} days
              </option>
            ))}
          </select>
        </label>
        <label class="field">
          Currency
          <select value={currency} onChange={(event) => setCurrency(event.currentTarget.value === "EUR" ? "EUR" : "USD")}>
            <option>USD</option>
            <option>EUR</option>
          </select>
        </label>
        <span class="faint">{count(UNITS.getPriceHistory, "unit")} for each token</span>
      </div>
      {symbols.length === 0 && <p class="faint">Choose a token to see its history.</p>}
      {[...failures].map(([symbol, failure]) => (
        <div key={symbol}>
          <p class="faint">
            History of <Text>{symbol}</Text>:
          </p>
          <FailureNotice failure={failure} again={again} compact />
        </div>
      ))}
      {isLoading && lines.length === 0 && <Loading what="the history" />}
      {lines.length > 0 && (
        <Figures
          title={`History of ${lines.map(({ symbol }) => symbol).join(", ")}: ${what}`}
          summary={lines.map((line) => lineSummary(line, dates, currency)).join(" ")}
          picture={
            <TimePlot
              times={times}
              lines={plotted}
              show={isCompared ? (value) => `${signed(value, 1)} %` : (value) => money(value, currency)}
              when={day}
              height={260}
            />
          }
          table={() => (
            <div class="tall one-line">
              <Table caption="Prices by day" columns={columns} rows={rows} keyOf={({ date }) => date} />
              {isCompared && (
                <p class="faint">
                  <Text most={2000}>{lines.map((line) => `${line.symbol}: ${lastChange(line)}`).join("; ")}</Text> over the range.
                </p>
              )}
            </div>
          )}
        />
      )}
    </div>
  );
}

function DayPrice({ line, date, place, currency, isLast }: { line: DayLine; date: string; place: number; currency: Currency; isLast: boolean }) {
  const price = line.prices[place];
  if (price === null || price === undefined) return <span class="faint">no price</span>;
  return (
    <>
      {isLast ? <span class="faint">goes on </span> : line.partial.includes(date) && <span class="faint">in part </span>}
      {money(price, currency)}
    </>
  );
}

const lastChange = ({ changes }: DayLine): string => {
  const last = changes.findLast((change) => change !== null);
  return last === undefined || last === null ? "not known" : percent(last);
};

interface Known {
  readonly of: string;
  readonly found: ReadonlyMap<string, History | Failure>;
}
const NOTHING: ReadonlyMap<string, History | Failure> = new Map();
const isHistory = (one: History | Failure | undefined): one is History => one !== undefined && "prices" in one;

/** Reads histories that are not known yet; those of another range, currency or key are forgotten. */
function useHistories(symbols: readonly string[], days: number, currency: Currency) {
  const [turn, setTurn] = useState(0);
  const user = useStore(key);
  const of = JSON.stringify([days, currency, user, turn]);
  const [known, setKnown] = useState<Known>({ of, found: NOTHING });
  const found = known.of === of ? known.found : NOTHING;
  const asked = symbols.filter((symbol) => !found.has(symbol)).join(" ");
  useEffect(() => {
    if (asked === "") return;
    const leaving = new AbortController();
    const wanted = asked.split(" ");
    callAll(
      wanted.map((symbol) => ({ method: "getPriceHistory", params: { symbol, days, currency } })),
      (outcome, place) => {
        const symbol = wanted[place] ?? "";
        setKnown((before) => ({
          of,
          found: new Map(before.of === of ? before.found : NOTHING).set(symbol, outcome.ok ? (outcome.data as History) : outcome.failure),
        }));
      },
      { signal: leaving.signal },
    ).catch(() => undefined); // left: nothing more is wanted
    return () => leaving.abort();
    // `found` grows while the batch comes in, which must not begin it again.
  }, [symbols.join(" "), of]);
  const histories = useMemo(() => symbols.map((symbol) => found.get(symbol)).filter(isHistory), [symbols, found]);
  const failures = new Map<string, Failure>();
  for (const symbol of symbols) {
    const one = found.get(symbol);
    if (one !== undefined && !isHistory(one)) failures.set(symbol, one);
  }
  return { histories, failures, isLoading: asked !== "", again: () => setTurn(turn + 1) };
}
