/** What is read of a wallet on one chain when its details are opened, and what that costs. */
import type { Call } from "../../gateway/calls.ts";
import { count } from "../../format/figures.ts";
import type { Family } from "./address.ts";

export type Part = "approvals" | "positions" | "transfers" | "delegations" | "rewards" | "withdrawals";
export type Costs = ReadonlyMap<string, number>;

interface Where {
  readonly chain: string;
  readonly address: string;
  readonly fromBlock: number | undefined;
}
interface Step {
  readonly part: Part;
  readonly method: string;
  readonly params: (where: Where) => Readonly<Record<string, unknown>>;
}
interface Plan {
  /** What is read, for the button. */
  readonly words: string;
  readonly steps: readonly Step[];
  /** What is not read on such a chain. */
  readonly without: string | undefined;
}

const wallet = ({ chain, address }: Where) => ({ chain, address });
const delegator = ({ chain, address }: Where) => ({ chain, delegator: address });
const ALONE: Plan = {
  words: "",
  steps: [],
  without: "The portfolio is all that is read of a wallet here: approvals, positions and transfers are read on EVM chains, stakes on Cosmos chains.",
};
const PLANS: Readonly<Record<Family, Plan>> = {
  evm: {
    words: "approvals, positions and transfers",
    steps: [
      { part: "approvals", method: "getApprovals", params: wallet },
      { part: "positions", method: "getDefiSummary", params: wallet },
      { part: "transfers", method: "getTransfers", params: ({ fromBlock, ...where }) => ({ ...wallet({ ...where, fromBlock }), ...(fromBlock !== undefined && { fromBlock }) }) },
    ],
    without: undefined,
  },
  cosmos: {
    words: "delegations, rewards and withdrawals",
    steps: [
      { part: "delegations", method: "getDelegations", params: delegator },
      { part: "rewards", method: "getRewards", params: delegator },
      { part: "withdrawals", method: "getUnbondingDelegations", params: delegator },
    ],
    without: "Approvals, positions in protocols and transfers are not read on Cosmos chains.",
  },
  solana: ALONE,
  bitcoin: ALONE,
  starknet: ALONE,
};

/** Blocks below the newest one in which transfers are looked for: what the gateway itself takes where none is named. */
const DEPTH = 10_000;

/** Returns where transfers are looked for from; undefined, so that the gateway decides, where the newest block is not known. */
export const transfersFrom = (newest: number | undefined): number | undefined => (newest === undefined ? undefined : Math.max(0, newest - DEPTH));

/** Returns what is read of wallets of this family. */
export const planOf = (family: Family | undefined): Plan => (family === undefined ? ALONE : PLANS[family]);

/** Returns the calls of the plan, or of one of its parts, with the part that each is for. */
export function callsOf(plan: Plan, where: Where, only?: Part): { readonly part: Part; readonly call: Call }[] {
  return plan.steps.filter(({ part }) => only === undefined || part === only).map(({ part, method, params }) => ({ part, call: { method, params: params(where) } }));
}

/** Returns the units that so many calls of each method cost; undefined where the document has not come or has no cost. */
export function unitsOf(methods: readonly string[], costs: Costs | undefined): number | undefined {
  let units = 0;
  for (const method of methods) {
    const cost = costs?.get(method);
    if (cost === undefined) return undefined;
    units += cost;
  }
  return units;
}

/** Returns units in words: `13 units`. */
export const inUnits = (units: number | undefined): string => (units === undefined ? "units not known" : count(units, "unit"));
