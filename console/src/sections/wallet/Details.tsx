import { useEffect, useRef, useState } from "preact/hooks";
import { count, usd } from "../../format/figures.ts";
import { callAll, type Outcome } from "../../gateway/calls.ts";
import { Badge } from "../../ui/Badge.tsx";
import { FailureNotice, Loading } from "../../ui/Notice.tsx";
import { familyOf } from "./address.ts";
import type { Approval } from "./allowance.ts";
import { Approvals } from "./Approvals.tsx";
import { callsOf, inUnits, planOf, transfersFrom, unitsOf, type Costs, type Part } from "./plan.ts";
import { hasSomething, isRead, type Chain, type Portfolio } from "./portfolio.ts";
import { Positions } from "./Positions.tsx";
import type { Summary } from "./positions.ts";
import type { Delegations, Rewards, Withdrawals } from "./staking.ts";
import { DelegationList, RewardList, WithdrawalList } from "./Staking.tsx";
import { Transfers, type TransferPage } from "./Transfers.tsx";

/** What is read of each chain on demand: those where the wallet has something first. */
export function Details({ portfolio, costs }: { portfolio: Portfolio; costs: Costs | undefined }) {
  const chains = [...portfolio.chains].sort((a, b) => Number(hasSomething(b)) - Number(hasSomething(a)));
  return (
    <section class="details" aria-label="Details by chain">
      <h2>Details by chain</h2>
      <p class="faint">Nothing of this is read before it is asked for; the button of each chain says what it costs.</p>
      {chains.map((chain) => (
        <details key={chain.chain} class="card">
          <summary>
            <h3>{chain.chain}</h3> <Held chain={chain} />
          </summary>
          <ChainDetails chain={chain} address={portfolio.address} costs={costs} />
        </details>
      ))}
    </section>
  );
}

function Held({ chain }: { chain: Chain }) {
  if (!isRead(chain)) return <Badge tone="bad">could not be read</Badge>;
  const { assets, unpriced, unread, totalUsd } = chain;
  if (assets.length === 0 && unread.length === 0) return <span class="faint">nothing known is held</span>;
  return (
    <span class="faint">
      {assets.length > unpriced ? `${usd(totalUsd)}, ` : ""}
      {count(assets.length, "asset")}
      {unpriced > 0 && `, ${unpriced} without a price`}
      {unread.length > 0 && `, ${unread.length} could not be read`}
    </span>
  );
}

function ChainDetails({ chain, address, costs }: { chain: Chain; address: string; costs: Costs | undefined }) {
  const plan = planOf(familyOf(address));
  const [outcomes, setOutcomes] = useState<Partial<Record<Part, Outcome>>>({});
  const [reading, setReading] = useState<readonly Part[]>([]);
  // The window of transfers is that of the moment of reading, also for its later pages.
  const fromBlock = transfersFrom(isRead(chain) ? chain.blockHeight : undefined);
  const leaving = useRef<AbortController | undefined>(undefined);
  useEffect(() => {
    const controller = new AbortController();
    leaving.current = controller;
    return () => controller.abort();
  }, []);
  if (plan.steps.length === 0) return <p class="faint">{plan.without}</p>;

  const read = (only?: Part) => {
    const signal = leaving.current?.signal;
    if (signal === undefined) return;
    const calls = callsOf(plan, { chain: chain.chain, address, fromBlock }, only);
    setReading((before) => [...before, ...calls.map(({ part }) => part)]);
    callAll(
      calls.map(({ call }) => call),
      (outcome, place) => {
        const part = calls[place]?.part;
        if (part === undefined || signal.aborted) return;
        setOutcomes((before) => ({ ...before, [part]: outcome }));
        setReading((before) => before.filter((one) => one !== part));
      },
      { signal },
    ).catch(() => undefined); // aborted: the wallet is another
  };
  const units = unitsOf(
    plan.steps.map(({ method }) => method),
    costs,
  );
  const isBegun = reading.length > 0 || Object.keys(outcomes).length > 0;
  return (
    <div class="chain-details">
      {plan.without !== undefined && <p class="faint">{plan.without}</p>}
      <button type="button" aria-disabled={reading.length > 0} onClick={() => reading.length === 0 && read()}>
        Read {plan.words} of {chain.chain}
        {Object.keys(outcomes).length > 0 && " again"} ({inUnits(units)})
      </button>
      {isBegun &&
        plan.steps.map(({ part }) => {
          const outcome = outcomes[part];
          return (
            <section key={part} aria-label={`${TITLES[part]} on ${chain.chain}`}>
              <h4>{TITLES[part]}</h4>
              {reading.includes(part) ? (
                <Loading what={part} />
              ) : outcome === undefined ? null : outcome.ok ? (
                <Shown part={part} data={outcome.data} chain={chain} address={address} fromBlock={fromBlock} costs={costs} again={() => read(part)} />
              ) : (
                <FailureNotice failure={outcome.failure} again={() => read(part)} />
              )}
            </section>
          );
        })}
    </div>
  );
}

const TITLES: Readonly<Record<Part, string>> = {
  approvals: "Approvals",
  positions: "Positions",
  transfers: "Transfers",
  delegations: "Delegations",
  rewards: "Rewards",
  withdrawals: "Withdrawals",
};

interface ShownProps {
  part: Part;
  data: unknown;
  chain: Chain;
  address: string;
  fromBlock: number | undefined;
  costs: Costs | undefined;
  again: () => void;
}

function Shown({ part, data, chain, address, fromBlock, costs, again }: ShownProps) {
  const assets = isRead(chain) ? chain.assets : [];
  switch (part) {
    case "approvals":
      return <Approvals found={data as { approvals: Approval[]; blockHeight: number }} chain={chain} address={address} costs={costs} />;
    case "positions":
      return <Positions summary={data as Summary} again={again} />;
    case "transfers":
      return <Transfers first={data as TransferPage} chain={chain.chain} address={address} fromBlock={fromBlock} costs={costs} />;
    case "delegations":
      return <DelegationList found={data as Delegations} assets={assets} />;
    case "rewards":
      return <RewardList found={data as Rewards} assets={assets} />;
    case "withdrawals":
      return <WithdrawalList found={data as Withdrawals} />;
  }
}
