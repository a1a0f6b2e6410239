import type { ComponentChildren } from "preact";
import { amount } from "../../format/figures.ts";
import { moment } from "../../format/times.ts";
import { Table, type Column } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { Address } from "./Address.tsx";
import type { Asset } from "./portfolio.ts";
import { counted, type Coin, type Delegations, type Rewards, type Withdrawals } from "./staking.ts";

function CoinText({ coin, assets }: { coin: Coin; assets: readonly Asset[] }) {
  const { amount: text, unit } = counted(coin, assets);
  return (
    <>
      <span title={text}>{amount(text)}</span> <Text most={40}>{unit}</Text>
    </>
  );
}

function List<Row>({ caption, columns, rows, none }: { caption: string; columns: readonly Column<Row>[]; rows: readonly Row[]; none: string }): ComponentChildren {
  return rows.length === 0 ? <p>{none}</p> : <Table caption={caption} columns={columns} rows={rows} keyOf={(_, place) => String(place)} />;
}
const validator = <Row extends { readonly validator: string }>(): Column<Row> => ({ name: "Validator", show: (row) => <Address of="validator">{row.validator}</Address> });

export function DelegationList({ found, assets }: { found: Delegations; assets: readonly Asset[] }) {
  const rows = found.delegation_responses.map(({ delegation, balance }) => ({ validator: delegation.validator_address, balance }));
  const columns = [validator<(typeof rows)[number]>(), { name: "Staked", isNumber: true, show: ({ balance }: (typeof rows)[number]) => <CoinText coin={balance} assets={assets} /> }];
  return <List caption="Delegations" columns={columns} rows={rows} none="Read, and nothing is staked." />;
}

export function RewardList({ found, assets }: { found: Rewards; assets: readonly Asset[] }) {
  const rows = found.rewards.flatMap(({ validator_address, reward }) => reward.map((coin) => ({ validator: validator_address, coin })));
  const columns = [validator<(typeof rows)[number]>(), { name: "Reward", isNumber: true, show: ({ coin }: (typeof rows)[number]) => <CoinText coin={coin} assets={assets} /> }];
  return (
    <>
      <List caption="Rewards" columns={columns} rows={rows} none="Read, and there is no reward." />
      {found.total.length > 0 && (
        <p>
          Together:{" "}
          {found.total.map((coin, place) => (
            <span key={coin.denom}>
              {place > 0 && ", "}
              <CoinText coin={coin} assets={assets} />
            </span>
          ))}
        </p>
      )}
    </>
  );
}

export function WithdrawalList({ found }: { found: Withdrawals }) {
  const rows = found.unbonding_responses.flatMap(({ validator_address, entries }) => entries.map((entry) => ({ validator: validator_address, entry })));
  type Row = (typeof rows)[number];
  // The answer states base units of the staked denom without naming it.
  const columns: Column<Row>[] = [
    validator<Row>(),
    { name: "Base units", isNumber: true, show: ({ entry }) => amount(entry.balance) },
    { name: "Free at (UTC)", show: ({ entry }) => moment(entry.completion_time) },
  ];
  return <List caption="Withdrawals" columns={columns} rows={rows} none="Read, and nothing is being withdrawn." />;
}
