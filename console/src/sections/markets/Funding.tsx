import { useMemo, useState } from "preact/hooks";
import { amount, count, percent } from "../../format/figures.ts";
import { moment } from "../../format/times.ts";
import { useCall } from "../../gateway/useCall.ts";
import { Badge } from "../../ui/Badge.tsx";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { type FundingRates, type FundingRow, joined, percentText, signed } from "./funding.ts";
import { Again } from "../../ui/Part.tsx";

const VENUES: Readonly<Record<string, string>> = { venueA: "venue-a", venueB: "venue-b" };
const MOST_ROWS = 50;

/** The funding rates of both venues, side by side by coin. */
export function Funding() {
  const { data, failure, isLoading, again } = useCall<FundingRates>("getFundingRates", {});
  const [find, setFind] = useState("");
  const [isBoth, setBoth] = useState(false);
  const rows = useMemo(() => (data === undefined ? [] : joined(data)), [data]);
  const sought = find.trim().toLowerCase();
  const shown = rows.filter(({ coin, difference }) => coin.toLowerCase().includes(sought) && (!isBoth || difference !== undefined));
  const away = data?.unavailable ?? [];
  const next = data?.venueB[0]?.nextFundingAt;
  return (
    <>
      <div class="row">
        <label class="field">
          Find a coin
          <input type="search" value={find} onInput={(event) => setFind(event.currentTarget.value)} />
        </label>
        <label class="choice">
          <input type="checkbox" checked={isBoth} onChange={() => setBoth(!isBoth)} />
          Only coins that both venues have
        </label>
        <Again what="funding rates" isLoading={isLoading} again={again} {...(data && { at: `asked at ${moment(data.timestamp)} UTC` })} />
      </div>
      {failure && <FailureNotice failure={failure} again={again} />}
      {data === undefined && isLoading && <Loading what="funding rates" />}
      {away.map((venue) => (
        <Notice tone="warn" key={venue}>
          <strong>{VENUES[venue] ?? <Text>{venue}</Text>}</strong> did not answer: its rates are missing here, they are not zero.
        </Notice>
      ))}
      {data !== undefined && (
        <>
          <p class="faint" role="status">
            {count(shown.length, "coin")} of {rows.length}; {rows.filter(({ difference }) => difference !== undefined).length} at both venues. Rates are of one hour; a year is
            24 × 365 of them, not compounded. Below zero shorts pay longs. {next !== undefined && `Next funding at venue-b: ${moment(next)} UTC.`}
          </p>
          <div class="tall one-line">
            <Table caption="Funding rates of venue-a and venue-b by coin" columns={columnsOf(away)} rows={shown} keyOf={({ coin }) => coin} most={MOST_ROWS} />
          </div>
        </>
      )}
    </>
  );
}

function columnsOf(away: readonly string[]): readonly Column<FundingRow>[] {
  const missing = (venue: string) => (away.includes(venue) ? <Badge tone="warn">away</Badge> : <span class="faint">not listed</span>);
  return [
    { name: "Coin", by: ({ coin }) => coin.toLowerCase(), show: ({ coin }) => <Text most={32}>{coin}</Text> },
    {
      name: "venue-a, hour",
      isNumber: true,
      by: ({ a }) => a && Number(a.fundingRate),
      show: ({ a }) => (a ? percentText(a.fundingRate) : missing("venueA")),
    },
    { name: "venue-a, year", isNumber: true, by: ({ a }) => a?.annualizedRate, show: ({ a }) => (a ? percent(a.annualizedRate) : "—") },
    {
      name: "venue-b, hour",
      isNumber: true,
      by: ({ b }) => b && Number(b.fundingRate),
      show: ({ b }) => (b ? percentText(b.fundingRate) : missing("venueB")),
    },
    { name: "venue-b, year", isNumber: true, by: ({ b }) => b?.annualizedRate, show: ({ b }) => (b ? percent(b.annualizedRate) : "—") },
    {
      name: "a less b, points a year",
      isNumber: true,
      by: ({ difference }) => difference,
      show: ({ difference }) => (difference === undefined ? "—" : signed(difference)),
    },
    { name: "Mark price, USD", isNumber: true, by: ({ a }) => a && Number(a.markPrice), show: ({ a }) => (a ? amount(a.markPrice) : "—") },
    { name: "Open interest, coins", isNumber: true, by: ({ a }) => a && Number(a.openInterest), show: ({ a }) => (a ? amount(a.openInterest, 2) : "—") },
    {
      name: "Next funding, UTC",
      by: ({ b }) => b?.nextFundingAt,
      show: ({ b }) => (b ? moment(b.nextFundingAt) : <span class="faint">not stated</span>),
    },
  ];
}
