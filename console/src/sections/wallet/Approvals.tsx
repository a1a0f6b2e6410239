import { useEffect, useRef, useState } from "preact/hooks";
import { hashOf } from "../../app/routes.ts";
import { amount, group } from "../../format/figures.ts";
import { call } from "../../gateway/calls.ts";
import { printExact } from "../../gateway/exact.ts";
import { Failure } from "../../gateway/failure.ts";
import { Badge } from "../../ui/Badge.tsx";
import { Copy } from "../../ui/Copy.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";
import { Table } from "../../ui/Table.tsx";
import { revealed, Text } from "../../ui/Text.tsx";
import { Address } from "./Address.tsx";
import { shareOf, type Approval } from "./allowance.ts";
import { inUnits, unitsOf, type Costs } from "./plan.ts";
import { isRead, type Chain } from "./portfolio.ts";

interface Props {
  found: { readonly approvals: readonly Approval[]; readonly blockHeight: number };
  chain: Chain;
  address: string;
  costs: Costs | undefined;
}
interface Revoke {
  readonly approval: Approval;
  readonly outcome: Failure | Readonly<Record<string, unknown>> | undefined;
}

/** Approvals of a chain, each with its share of the balance, and the transaction that would take one back. */
export function Approvals({ found, chain, address, costs }: Props) {
  const [revoke, setRevoke] = useState<Revoke | undefined>();
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const read = (approval: Approval) => {
    running.current?.abort();
    const leaving = new AbortController();
    running.current = leaving;
    setRevoke({ approval, outcome: undefined });
    const params = { chain: chain.chain, address, token: approval.token.address, spender: approval.spender.address };
    call<Readonly<Record<string, unknown>>>("getApprovalsRevoke", params, leaving.signal).then(
      (outcome) => setRevoke({ approval, outcome }),
      (error: unknown) => !leaving.signal.aborted && setRevoke({ approval, outcome: Failure.from(error) }),
    );
  };
  const units = inUnits(unitsOf(["getApprovalsRevoke"], costs));
  const words = (
    <p class="faint">
      Read at block {group(found.blockHeight)}. Only the spenders and tokens that <a href={hashOf("getApprovals")}>getApprovals</a> names are looked for.
      {isRead(chain) && chain.blockHeight !== undefined && ` Shares are of the portfolio's balances, read at block ${group(chain.blockHeight)}.`}
    </p>
  );
  if (found.approvals.length === 0)
    return (
      <>
        <p>No approval among those looked for.</p>
        {words}
      </>
    );
  return (
    <>
      <Table
        caption={`Approvals on ${chain.chain}`}
        columns={[
          { name: "Token", show: ({ token }) => <Text most={24}>{token.symbol}</Text>, by: ({ token }) => token.symbol },
          {
            name: "Spender",
            show: ({ spender }) => (
              <>
                <Text most={60}>{spender.name}</Text> <Address of="spender">{spender.address}</Address>
              </>
            ),
            by: ({ spender }) => spender.name,
          },
          { name: "Allowance", isNumber: true, show: ({ allowance, isUnlimited }) => (isUnlimited ? "" : <span title={allowance}>{amount(allowance)}</span>) },
          { name: "Share", show: (approval) => <Badge tone="plain">{shareOf(approval, chain)}</Badge> },
          {
            name: "Revoke",
            show: (approval) => (
              <button
                type="button"
                class="small"
                onClick={() => read(approval)}
                aria-label={revealed(`Revoke transaction (${units}) of ${approval.token.symbol.slice(0, 40)} for ${approval.spender.name.slice(0, 80)}`)}
              >
                Revoke transaction ({units})
              </button>
            ),
          },
        ]}
        rows={found.approvals}
        keyOf={({ token, spender }) => `${token.address} ${spender.address}`}
      />
      {words}
      {revoke && <RevokeShown revoke={revoke} chain={chain.chain} again={() => read(revoke.approval)} close={() => setRevoke(undefined)} />}
    </>
  );
}

function RevokeShown({ revoke: { approval, outcome }, chain, again, close }: { revoke: Revoke; chain: string; again: () => void; close: () => void }) {
  const text = outcome === undefined || outcome instanceof Failure ? "" : printExact(outcome, 2);
  return (
    <div class="revoke notice" role="region" aria-label="Unsigned revoke transaction">
      <div class="row">
        <strong>
          Unsigned transaction on {chain}: <Text most={24}>{approval.token.symbol}</Text>, <Text most={60}>{approval.spender.name}</Text>
        </strong>
        {text !== "" && <Copy text={text} of="the unsigned transaction" />}
        <button type="button" class="small quiet" onClick={close}>
          Close
        </button>
      </div>
      <div aria-live="polite">
        {outcome === undefined ? (
          <Loading what="the transaction" />
        ) : outcome instanceof Failure ? (
          <FailureNotice failure={outcome} again={again} />
        ) : (
          <>
            <pre tabIndex={0} role="region" aria-label="Transaction as JSON">
              {revealed(text.slice(0, 8000)).replaceAll("<U+000A>", "\n")}
            </pre>
            <p>It sets the allowance to zero once a wallet signs it and sends it to {chain}. The console signs and sends nothing.</p>
          </>
        )}
      </div>
    </div>
  );
}
