/** Stakes on Cosmos chains, in whole units where the portfolio says how many digits a denom has. */
import type { Asset } from "./portfolio.ts";

export interface Coin {
  readonly denom: string;
  readonly amount: string;
}
export interface Delegations {
  readonly delegation_responses: readonly { readonly delegation: { readonly validator_address: string }; readonly balance: Coin }[];
}
export interface Rewards {
  readonly rewards: readonly { readonly validator_address: string; readonly reward: readonly Coin[] }[];
  readonly total: readonly Coin[];
}
export interface Withdrawals {
  readonly unbonding_responses: readonly {
    readonly validator_address: string;
    readonly entries: readonly { readonly completion_time: string; readonly initial_balance: string; readonly balance: string }[];
  }[];
}

const DECIMAL = /^([0-9]+)(?:\.([0-9]+))?$/;

/** Returns decimal text divided by ten to the power of `places`, exactly; other text as it is. */
export function shifted(text: string, places: number): string {
  const found = DECIMAL.exec(text);
  if (found === null) return text;
  const [, whole = "0", rest = ""] = found;
  const digits = whole.padStart(places + 1, "0");
  const fraction = (digits.slice(digits.length - places) + rest).replace(/0+$/, "");
  const before = places === 0 ? digits : digits.slice(0, digits.length - places);
  const cut = places === 0 ? rest.replace(/0+$/, "") : fraction;
  return before.replace(/^0+(?=.)/, "") + (cut && `.${cut}`);
}

/** Returns the coin in whole units of the asset that it is, else in its denom. */
export function counted({ denom, amount }: Coin, assets: readonly Asset[]): { readonly amount: string; readonly unit: string } {
  const asset = assets.find(({ address }) => address === denom);
  return asset === undefined ? { amount, unit: denom } : { amount: shifted(amount, asset.decimals), unit: asset.symbol };
}
