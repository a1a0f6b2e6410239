import { useEffect, useRef, useState } from "preact/hooks";
import { amount, count, group } from "../../format/figures.ts";
import { call } from "../../gateway/calls.ts";
import { Failure } from "../../gateway/failure.ts";
import { Badge } from "../../ui/Badge.tsx";
import { FailureNotice } from "../../ui/Notice.tsx";
import { Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { Address } from "./Address.tsx";
import { inUnits, unitsOf, type Costs } from "./plan.ts";

interface Transfer {
  readonly token: string;
  readonly from: string;
  readonly to: string;
  readonly value: string;
  readonly blockNumber: number;
  readonly transactionHash: string;
  readonly logIndex: number;
  readonly removed: boolean;
  readonly symbol?: string;
  readonly decimals?: number;
  readonly amount?: string;
}
export interface TransferPage {
  readonly hasMore: boolean;
  readonly cursor: string | null;
  readonly transfers: readonly Transfer[];
}
/** Rows that are drawn at once; a page may have a thousand. */
const STEP = 50;

interface Props {
  first: TransferPage;
  chain: string;
  address: string;
  fromBlock: number | undefined;
  costs: Costs | undefined;
}

/** Transfers of tokens in the window, newest first; older pages on demand. */
export function Transfers({ first, chain, address, fromBlock, costs }: Props) {
  const [pages, setPages] = useState<readonly TransferPage[]>([first]);
  const [most, setMost] = useState(STEP);
  const [failure, setFailure] = useState<Failure | undefined>();
  const [isReading, setReading] = useState(false);
  const leaving = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    setPages([first]);
    setMost(STEP);
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, [first]);
  const last = pages.at(-1) ?? first;
  const transfers = pages.flatMap((page) => page.transfers);
  const readOlder = () => {
    const signal = leaving.current?.signal;
    if (signal === undefined || last.cursor === null || isReading) return;
    setReading(true);
    setFailure(undefined);
    call<TransferPage>("getTransfers", { chain, address, ...(fromBlock !== undefined && { fromBlock }), cursor: last.cursor }, signal)
      .then(
        (page) => {
          setPages((before) => [...before, page]);
          setMost((before) => before + STEP);
        },
        (error: unknown) => !signal.aborted && setFailure(Failure.from(error)),
      )
      .finally(() => setReading(false));
  };
  const range = fromBlock === undefined ? "the newest blocks (the gateway's own window)" : `blocks ${group(fromBlock)} to the newest`;
  return (
    <>
      <p class="faint">
        Transfers of tokens in {range}: {transfers.length === 0 && !last.hasMore ? "none" : count(transfers.length, "transfer")}
        {last.hasMore && ", older ones may remain"}. Older blocks and the chain's own coin are not looked at.
      </p>
      {transfers.length > 0 && (
        <Table
          caption={`Transfers on ${chain}`}
          columns={[
            { name: "Block", show: ({ blockNumber }) => group(blockNumber) },
            { name: "Token", show: ({ symbol, token }) => (symbol === undefined ? <Address of="token">{token}</Address> : <Text most={24}>{symbol}</Text>) },
            { name: "Direction", show: (transfer) => direction(transfer, address) },
            { name: "Other side", show: ({ from, to }) => <Address of="account">{same(from, address) ? to : from}</Address> },
            {
              name: "Amount",
              isNumber: true,
              show: ({ amount: whole, value, removed }) => (
                <>
                  {whole === undefined ? (
                    <>
                      {group(value)} <span class="faint">smallest units, decimals not known</span>
                    </>
                  ) : (
                    <span title={whole}>{amount(whole)}</span>
                  )}
                  {removed && <Badge tone="warn">taken back by a reorganisation</Badge>}
                </>
              ),
            },
            { name: "Transaction", show: ({ transactionHash }) => <Address of="transaction">{transactionHash}</Address> },
          ]}
          rows={transfers.slice(0, most)}
          keyOf={({ blockNumber, logIndex, transactionHash }) => `${blockNumber} ${logIndex} ${transactionHash}`}
        />
      )}
      {failure && <FailureNotice failure={failure} />}
      <div class="row">
        {transfers.length > most && (
          <button type="button" class="small" onClick={() => setMost(most + STEP)}>
            Show more ({group(transfers.length - most)} read already)
          </button>
        )}
        {last.hasMore && last.cursor !== null && (
          <button type="button" class="small" aria-disabled={isReading} onClick={readOlder}>
            {isReading ? "Reading older transfers …" : `Read older transfers (${inUnits(unitsOf(["getTransfers"], costs))})`}
          </button>
        )}
      </div>
    </>
  );
}

const same = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase();
const direction = ({ from, to }: Transfer, address: string): string =>
  same(from, address) ? (same(to, address) ? "to itself" : "out") : "in";
