import { useMemo, useState } from "preact/hooks";
import { count, percent, usd } from "../../format/figures.ts";
import { moment } from "../../format/times.ts";
import { useCall } from "../../gateway/useCall.ts";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { Again } from "../../ui/Part.tsx";
import { UNITS } from "../../gateway/contract.ts";
import { type BestYield, type BestYields, dollarsOf, filtered, NO_FILTER, type Unavailable, valuesOf, type YieldFilter } from "./yields.ts";

const MOST_POOLS = 1000;
const MOST_ROWS = 50;

/** The best pools of all protocols and chains: sorted, filtered here, or asked for anew where the answer was full. */
export function Yields() {
  const [asked, setAsked] = useState<{ token?: string; minTvl?: number }>({});
  const { data, failure, isLoading, again } = useCall<BestYields>("getYieldsBest", { limit: MOST_POOLS, ...asked });
  const [filter, setFilter] = useState<YieldFilter>(NO_FILTER);
  const rows = data?.results ?? [];
  const { shown, unsized } = useMemo(() => filtered(rows, filter), [data, filter]);
  const least = dollarsOf(filter.minTvl);
  const isBad = Number.isNaN(least);
  const set = (member: keyof YieldFilter) => (event: { currentTarget: { value: string } }) => setFilter({ ...filter, [member]: event.currentTarget.value });
  const isFull = rows.length >= MOST_POOLS;
  const isNarrowed = asked.token !== undefined || asked.minTvl !== undefined;
  const askAnew = () => {
    const token = filter.token.trim();
    setAsked({ ...(token !== "" && { token }), ...(least !== undefined && !isBad && { minTvl: least }) });
  };
  return (
    <>
      <div class="row" role="group" aria-label="Filter of yields">
        <label class="field">
          Token
          <input type="search" size={10} value={filter.token} onInput={set("token")} placeholder="USDC" />
        </label>
        {(["chain", "protocol", "type"] as const).map((member) => (
          <label class="field" key={member}>
            {NAMES[member]}
            <select value={filter[member]} onChange={set(member)}>
              <option value="">all</option>
              {valuesOf(rows, member).map((value) => (
                <option key={value}>{value}</option>
              ))}
            </select>
          </label>
        ))}
        <label class="field">
          Minimum TVL, USD
          <input
            inputMode="decimal"
            size={10}
            value={filter.minTvl}
            onInput={set("minTvl")}
            placeholder="250k"
            {...(isBad && { "aria-invalid": "true" as const, "aria-describedby": "tvl-complaint" })}
          />
        </label>
        <button type="button" onClick={() => setFilter(NO_FILTER)} disabled={filter === NO_FILTER}>
          Clear filter
        </button>
        <Again what="yields" isLoading={isLoading} again={again} />
      </div>
      {isBad && (
        <p id="tvl-complaint" class="complaint" role="alert">
          Write US dollars as digits, for example 1000000, 250k or 1.5M.
        </p>
      )}
      {failure && <FailureNotice failure={failure} again={again} />}
      {data === undefined && isLoading && <Loading what="the comparison, which takes up to 20 seconds the first time" />}
      {data !== undefined && (
        <>
          {data.unavailable.length > 0 && <Away sources={data.unavailable} />}
          {(isFull || isNarrowed) && (
            <Notice>
              {isFull && <>Read are the {MOST_POOLS} best alone; there may be more pools for a filter. </>}
              {isNarrowed && <>Read are pools of the token and size that were asked for alone. </>}
              <button type="button" class="small" onClick={askAnew} disabled={isLoading}>
                Read with this token and minimum ({UNITS.getYieldsBest} units)
              </button>
            </Notice>
          )}
          <p class="faint" role="status">
            {count(shown.length, "pool")} of {rows.length}. APY is per cent a year, after fees, without rewards.
            {unsized > 0 && ` ${count(unsized, "pool")} of unknown size ${unsized === 1 ? "is" : "are"} left out by the minimum.`}
          </p>
          <div class="tall one-line">
            <Table
              caption="Pools by yield"
              columns={COLUMNS}
              rows={shown}
              keyOf={({ chain, protocol, pool }) => `${chain} ${protocol} ${pool}`}
              sorted={{ column: "APY", isDescending: true }}
              most={MOST_ROWS}
            />
          </div>
        </>
      )}
    </>
  );
}

const NAMES = { chain: "Chain", protocol: "Protocol", type: "Type" } as const;
const COLUMNS: readonly Column<BestYield>[] = [
  { name: "Token", by: ({ symbol }) => symbol.toLowerCase(), show: ({ symbol }) => <Text most={32}>{symbol}</Text> },
  { name: "APY", isNumber: true, by: ({ apy }) => apy, show: ({ apy }) => percent(apy) },
  {
    name: "TVL, USD",
    isNumber: true,
    by: ({ tvl }) => tvl ?? undefined,
    show: ({ tvl }) => (typeof tvl === "number" ? usd(tvl) : <span class="faint">not known</span>),
  },
  { name: "Chain", by: ({ chain }) => chain, show: ({ chain }) => <Text most={24}>{chain}</Text> },
  { name: "Protocol", by: ({ protocol }) => protocol, show: ({ protocol }) => <Text most={24}>{protocol}</Text> },
  { name: "Type", by: ({ type }) => type, show: ({ type }) => type },
  {
    name: "Pool",
    show: ({ pool }) => (
      <Text most={44} mono>
        {pool}
      </Text>
    ),
  },
  { name: "Read, UTC", by: ({ updatedAt }) => updatedAt, show: ({ updatedAt }) => moment(updatedAt) },
];

function Away({ sources }: { sources: readonly Unavailable[] }) {
  return (
    <Notice tone="warn">
      <details>
        <summary>{count(sources.length, "source is", "sources are")} away: their pools are missing here, which says nothing about their rates.</summary>
        <Table
          caption="Sources of yields that are away"
          columns={[
            { name: "Protocol", by: ({ protocol }) => protocol, show: ({ protocol }) => <Text most={24}>{protocol}</Text> },
            { name: "Chain", by: ({ chain }) => chain, show: ({ chain }) => <Text most={24}>{chain}</Text> },
            { name: "Reason", by: ({ reason }) => reason, show: ({ reason }) => <Text most={40}>{reason}</Text> },
            { name: "What went wrong", show: ({ message }) => <Text most={200}>{message}</Text> },
          ]}
          rows={sources}
          keyOf={({ protocol, chain }) => `${protocol} ${chain}`}
        />
      </details>
    </Notice>
  );
}
