/** An allowance beside what the wallet holds of the token, in integers. */
import { group } from "../../format/figures.ts";
import { isRead, type Chain } from "./portfolio.ts";

export interface Approval {
  readonly token: { readonly symbol: string; readonly address: string };
  readonly spender: { readonly name: string; readonly address: string };
  readonly allowance: string;
  readonly allowanceRaw: string;
  readonly isUnlimited: boolean;
}

/** Returns `unlimited`, or the share of the balance that may be moved; says so where the balance is not known. */
export function shareOf({ token, allowanceRaw, isUnlimited }: Approval, chain: Chain): string {
  if (isUnlimited) return "unlimited";
  if (!isRead(chain)) return "the balance could not be read";
  const address = token.address.toLowerCase();
  if (chain.unread.some((one) => one.toLowerCase() === address)) return "the balance could not be read";
  const held = chain.assets.find((asset) => asset.address.toLowerCase() === address);
  if (held === undefined) return "the portfolio lists no balance of it";
  const allowance = BigInt(allowanceRaw);
  const balance = BigInt(held.balanceRaw);
  if (allowance > balance) return "more than the balance";
  return `${hundredths((allowance * 10_000n) / balance, allowance > 0n)} of the balance`;
}

function hundredths(share: bigint, isSomething: boolean): string {
  if (share === 0n && isSomething) return "under 0.01 %";
  const rest = String(share % 100n).padStart(2, "0").replace(/0+$/, "");
  return `${group(share / 100n)}${rest && `.${rest}`} %`;
}
