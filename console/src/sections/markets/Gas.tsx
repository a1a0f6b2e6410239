import { useMemo } from "preact/hooks";
import { count, significant, usd } from "../../format/figures.ts";
import { moment } from "../../format/times.ts";
import { useCall } from "../../gateway/useCall.ts";
import { Figures } from "../../ui/Figures.tsx";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { KIND_OF } from "../chains/kinds.ts";
import { type Bar, type ChainGas, type GasComparison, logarithmicBars, silent, spread } from "./gas.ts";
import { Again } from "../../ui/Part.tsx";

const EVM = [...KIND_OF].filter(([, kind]) => kind === "EVM").map(([slug]) => slug);

/** What a plain transfer costs on each EVM chain. */
export function Gas() {
  const { data, failure, isLoading, again } = useCall<GasComparison>("compareGas", {});
  const rows = data?.results ?? [];
  const { bars, powers } = useMemo(() => logarithmicBars(rows), [data]);
  const priced = rows.filter(({ estimatedTxCostUsd: cost }) => typeof cost === "number");
  const [cheapest, dearest] = [priced[0], priced.at(-1)];
  const times = spread(rows);
  const late = data === undefined ? [] : silent(EVM, data);
  const summary =
    cheapest === undefined || dearest === undefined
      ? "No chain has a cost in US dollars."
      : cheapest === dearest
        ? `Only ${cheapest.chain} has a cost: ${costOf(cheapest)}.`
        : `Cheapest is ${cheapest.chain} with ${costOf(cheapest)}, dearest ${dearest.chain} with ${costOf(dearest)}${times === undefined ? "" : `, ${significant(times)} times as much`}. The scale is logarithmic: each line is ten times the one to its left, so lengths of bars do not compare as amounts do.`;
  return (
    <>
      <Again what="gas" isLoading={isLoading} again={again} {...(rows[0] && { at: `read at ${moment(rows[0].updatedAt)} UTC` })} />
      {failure && <FailureNotice failure={failure} again={again} />}
      {data === undefined && isLoading && <Loading what="gas of all chains" />}
      {late.length > 0 && (
        <Notice tone="warn">
          {count(late.length, "chain")} did not answer in time and {late.length === 1 ? "is" : "are"} left out: {late.join(", ")}.
        </Notice>
      )}
      {data !== undefined && data.notAllowed.length > 0 && (
        <Notice>
          This key may not read {count(data.notAllowed.length, "chain")}, left out here: <Text most={400}>{data.notAllowed.join(", ")}</Text>.
        </Notice>
      )}
      {data !== undefined && (
        <div class="split">
          <Figures
            title="Cost of a transfer, US dollars"
            summary={summary}
            picture={<Bars bars={bars} powers={powers} />}
            table={() => <Table caption="Cost of a transfer by chain" columns={[COLUMNS[0], COLUMNS[1]] as Column<ChainGas>[]} rows={rows} keyOf={({ chain }) => chain} />}
          />
          <div class="one-line">
            <Table caption="Gas of EVM chains" columns={COLUMNS} rows={rows} keyOf={({ chain }) => chain} />
            <p class="faint">A transfer is 21 000 gas at base plus priority fee. What chains charge besides for layer 1 is apart, where it is known.</p>
          </div>
        </div>
      )}
    </>
  );
}

const costOf = ({ estimatedTxCostUsd: cost }: ChainGas): string => (typeof cost === "number" ? usd(cost) : "no price");
const COLUMNS: readonly Column<ChainGas>[] = [
  { name: "Chain", by: ({ chain }) => chain, show: ({ chain }) => <Text most={24}>{chain}</Text> },
  {
    name: "Transfer, USD",
    isNumber: true,
    by: ({ estimatedTxCostUsd: cost }) => cost ?? undefined,
    show: (row) => (typeof row.estimatedTxCostUsd === "number" ? costOf(row) : <span class="faint">no price</span>),
  },
  {
    name: "Layer 1, USD",
    isNumber: true,
    by: ({ l1FeeUsd }) => l1FeeUsd,
    show: ({ l1FeeUsd }) => (l1FeeUsd === undefined ? <span class="faint">none stated</span> : usd(l1FeeUsd)),
  },
  { name: "Base fee, gwei", isNumber: true, by: ({ baseFeeGwei }) => baseFeeGwei, show: ({ baseFeeGwei }) => significant(baseFeeGwei) },
  { name: "Priority fee, gwei", isNumber: true, by: ({ priorityFeeGwei }) => priorityFeeGwei, show: ({ priorityFeeGwei }) => significant(priorityFeeGwei) },
];

/** Bars over lines of the powers of ten. */
function Bars({ bars, powers }: { bars: readonly Bar[]; powers: readonly number[] }) {
  const widest = Math.max(1, powers.length - 1);
  return (
    <div class="bars">
      {bars.map(({ chain, cost, length }) => (
        <div class="bar-row" key={chain}>
          <span class="bar-name">{chain}</span>
          <span class="bar-track">
            {powers.map((power, step) => (
              <i key={power} style={{ left: `${(step / widest) * 100}%` }} />
            ))}
            {length !== undefined && <b style={{ width: `${Math.max(0.5, length * 100)}%` }} />}
          </span>
          <span class="bar-value">{cost === undefined ? "no price" : usd(cost)}</span>
        </div>
      ))}
      <div class="bar-row">
        <span class="bar-name" />
        <span class="bar-track scale">
          {powers.map((power, step) => (
            <em key={power} style={{ left: `${(step / widest) * 100}%` }}>
              {power >= 0 ? `$${10 ** power}` : `$10${superscript(power)}`}
            </em>
          ))}
        </span>
        <span class="bar-value" />
      </div>
    </div>
  );
}

const RAISED: Readonly<Record<string, string>> = { "-": "⁻", "0": "⁰", "1": "¹", "2": "²", "3": "³", "4": "⁴", "5": "⁵", "6": "⁶", "7": "⁷", "8": "⁸", "9": "⁹" };
const superscript = (power: number): string => [...String(power)].map((sign) => RAISED[sign] ?? sign).join("");
