import { amount, group, usd } from "../../format/figures.ts";
import { Badge } from "../../ui/Badge.tsx";
import { Json } from "../../ui/Json.tsx";
import { Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { Address } from "./Address.tsx";
import { sorted, type Amount, type Fact, type Holding, type Summary } from "./positions.ts";

/** Positions in the protocols of a chain: a card each, and in words those without. */
export function Positions({ summary, again }: { summary: Summary; again: () => void }) {
  const { held, failed, unknown, empty, unsupported } = sorted(summary);
  return (
    <>
      {failed.length > 0 && (
        <div class="notice bad" role="alert">
          {failed.map(({ protocol, error }) => (
            <p key={protocol}>
              <strong>{protocol}</strong> could not be read:{" "}
              {error === undefined ? "the gateway does not say why" : <Text most={300}>{`${error.reason}: ${error.message}`}</Text>}
            </p>
          ))}
          <button type="button" class="small" onClick={again}>
            Read positions again
          </button>
        </div>
      )}
      {held.map(({ protocol, positions: { facts, holdings } }) => (
        <section key={protocol} class="protocol" aria-label={protocol}>
          <h5>{protocol}</h5>
          {facts.length > 0 && <Facts facts={facts} />}
          <HoldingTable protocol={protocol} holdings={holdings} />
        </section>
      ))}
      {unknown.map(({ protocol, data }) => (
        <section key={protocol} class="protocol" aria-label={protocol}>
          <h5>
            <Text>{protocol}</Text>
          </h5>
          <div class="json">
            <Json value={data} />
          </div>
        </section>
      ))}
      {empty.length > 0 && <p class="faint">Read, and without a position: {empty.join(", ")}.</p>}
      {unsupported.length > 0 && <p class="faint">Not on this chain: {unsupported.join(", ")}.</p>}
      {summary.blockHeight !== null && <p class="faint">Read at block {group(summary.blockHeight)}.</p>}
    </>
  );
}

function Facts({ facts }: { facts: readonly Fact[] }) {
  return (
    <dl class="facts">
      {facts.map(({ name, value, mark }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{mark === undefined ? value : <Badge tone={mark}>{value}</Badge>}</dd>
        </div>
      ))}
    </dl>
  );
}

function HoldingTable({ protocol, holdings }: { protocol: string; holdings: readonly Holding[] }) {
  const list = (amounts: readonly Amount[]) =>
    amounts.map((one, place) => (
      <div key={place}>
        <span title={one.amount}>{amount(one.amount)}</span> <Text most={24}>{one.symbol}</Text>
        {one.usd !== undefined && <span class="faint"> {one.usd === null ? "no price" : usd(one.usd)}</span>}
      </div>
    ));
  const hasNotes = holdings.some(({ note }) => note !== undefined);
  return (
    <Table
      caption={`Positions in ${protocol}`}
      columns={[
        {
          name: "Position",
          show: ({ name, address }) => (
            <>
              <Text most={60}>{name}</Text> {address !== "" && address !== "native" && <Address of="contract or market">{address}</Address>}
            </>
          ),
        },
        ...(holdings.some(({ supplied }) => supplied.length > 0) ? [{ name: "Supplied", show: ({ supplied }: Holding) => list(supplied) }] : []),
        ...(holdings.some(({ collateral }) => collateral.length > 0) ? [{ name: "As collateral", show: ({ collateral }: Holding) => list(collateral) }] : []),
        ...(holdings.some(({ owed }) => owed.length > 0) ? [{ name: "Owed", show: ({ owed }: Holding) => list(owed) }] : []),
        ...(hasNotes ? [{ name: "State", show: ({ note }: Holding) => note ?? "" }] : []),
      ]}
      rows={holdings}
      keyOf={({ address, name }, place) => `${address} ${name} ${place}`}
    />
  );
}
