import { amount, short, usd } from "../../format/figures.ts";
import { moment } from "../../format/times.ts";
import { Badge } from "../../ui/Badge.tsx";
import { Figures } from "../../ui/Figures.tsx";
import { Notice } from "../../ui/Notice.tsx";
import { Table, type Column } from "../../ui/Table.tsx";
import { revealed, Text } from "../../ui/Text.tsx";
import { inUnits } from "./plan.ts";
import { inWords, isRead, leftOut, rowsOf, share, slicesOf, type AssetRow, type Portfolio } from "./portfolio.ts";
import { ValueMap } from "./ValueMap.tsx";

const PICTURE = "Value by chain and token";

interface Props {
  portfolio: Portfolio;
  /** Chains that are being read again. */
  again: readonly string[];
  readChain: (chain: string) => void;
  units: number | undefined;
}

/** What the wallet holds: the total, a picture, and every row, also those that could not be read. */
export function Holdings({ portfolio, again, readChain, units }: Props) {
  const slices = slicesOf(portfolio);
  const missing = leftOut(portfolio);
  const rows = rowsOf(portfolio);
  const empty = portfolio.chains.filter((chain) => isRead(chain) && chain.assets.length === 0 && chain.unread.length === 0).map(({ chain }) => chain);
  const failed = portfolio.chains.filter((chain) => !isRead(chain));
  const nothingKnown = slices.length === 0;
  return (
    <section class="holdings" aria-label="Portfolio">
      <div class="total" role="status">
        <h2>Portfolio</h2>
        <p>
          <strong class="sum">{nothingKnown && missing.length > 0 ? "no known value" : usd(portfolio.totalUsd)}</strong>{" "}
          <span class="faint">known value, {moment(portfolio.timestamp)} UTC</span>
        </p>
        {missing.length > 0 && (
          <p>
            <Badge tone="warn">not in the total</Badge> {missing.join(", ")}
          </p>
        )}
      </div>
      {portfolio.notAllowed.length > 0 && <Notice tone="warn">Left out, as this key may not read them: {portfolio.notAllowed.join(", ")}.</Notice>}
      {failed.length > 0 && (
        <ul class="failed" aria-label="Chains that could not be read">
          {failed.map((row) => (
            <li key={row.chain} class="notice bad">
              <strong>{row.chain}</strong> could not be read: {!isRead(row) && <Text most={300}>{`${row.error.reason}: ${row.error.message}`}</Text>}
              <button type="button" class="small" aria-disabled={again.includes(row.chain)} onClick={() => again.includes(row.chain) || readChain(row.chain)}>
                {again.includes(row.chain) ? `Reading ${row.chain} …` : `Read ${row.chain} again (${inUnits(units)})`}
              </button>
            </li>
          ))}
        </ul>
      )}
      {!nothingKnown && (
        <div class="card">
          <Figures
            title={PICTURE}
            summary={revealed(inWords(slices, missing).slice(0, 600))}
            picture={<ValueMap slices={slices} />}
            table={() => {
              const all = slices.flatMap(({ name, tokens }) => tokens.map((token) => ({ chain: name, token })));
              const whole = slices.reduce((sum, { value }) => sum + value, 0);
              return (
                <Table
                  caption={`Figures: ${PICTURE.toLowerCase()}`}
                  columns={[
                    { name: "Chain", show: ({ chain }) => chain },
                    { name: "Token", show: ({ token }) => <Text most={24}>{token.name}</Text> },
                    { name: "Value", isNumber: true, show: ({ token }) => usd(token.value) },
                    { name: "Share", isNumber: true, show: ({ token }) => share(token.value, whole) },
                  ]}
                  rows={all}
                  keyOf={(_, place) => String(place)}
                />
              );
            }}
          />
        </div>
      )}
      {rows.length > 0 && (
        <div class="card assets">
          <h3>Assets</h3>
          <Table caption="Assets" columns={COLUMNS} rows={rows} keyOf={keyOf} sorted={{ column: "Value", isDescending: true }} />
        </div>
      )}
      {empty.length > 0 && (
        <p class="faint">
          {rows.length === 0 ? "Read, and nothing known is held: " : "Read, and nothing known is held on: "}
          {empty.join(", ")}.
        </p>
      )}
    </section>
  );
}

const keyOf = (row: AssetRow): string => `${row.chain} ${row.kind} ${row.kind === "asset" ? row.asset.address : row.kind === "unread" ? row.address : ""}`;

const COLUMNS: readonly Column<AssetRow>[] = [
  { name: "Chain", show: ({ chain }) => chain, by: ({ chain }) => chain },
  {
    name: "Token",
    show: (row) =>
      row.kind === "failed" ? (
        <span class="faint">all of the chain</span>
      ) : row.kind === "unread" ? (
        <span class="faint">not named</span>
      ) : (
        <>
          <Text most={24}>{row.asset.symbol}</Text>{" "}
          <span class="faint">
            <Text most={40}>{row.asset.name}</Text>
          </span>
        </>
      ),
    by: (row) => (row.kind === "asset" ? row.asset.symbol : undefined),
  },
  {
    name: "Contract",
    show: (row) =>
      row.kind === "failed" ? "" : row.kind === "unread" ? <Contract>{row.address}</Contract> : row.asset.address === "native" ? "own coin" : <Contract>{row.asset.address}</Contract>,
  },
  {
    name: "Balance",
    isNumber: true,
    show: (row) =>
      row.kind === "asset" ? <span title={row.asset.balance}>{amount(row.asset.balance)}</span> : <Badge tone={row.kind === "failed" ? "bad" : "warn"}>could not be read</Badge>,
  },
  {
    name: "Price",
    isNumber: true,
    show: (row) => (row.kind !== "asset" ? <Unknown /> : row.asset.priceUsd === null ? <Badge tone="idle">no price</Badge> : usd(row.asset.priceUsd)),
    by: (row) => (row.kind === "asset" ? (row.asset.priceUsd ?? undefined) : undefined),
  },
  {
    name: "Value",
    isNumber: true,
    show: (row) => (row.kind !== "asset" || row.asset.valueUsd === null ? <Unknown /> : usd(row.asset.valueUsd)),
    // What could not be read may be anything: it stands first.
    by: (row) => (row.kind === "asset" ? (row.asset.valueUsd ?? undefined) : Infinity),
  },
];

const Contract = ({ children }: { children: string }) => (
  <span title={children}>
    <Text mono>{short(children, 8, 6)}</Text>
  </span>
);
const Unknown = () => <span class="faint">not known</span>;
