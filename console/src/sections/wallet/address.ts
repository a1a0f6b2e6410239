/** What a wallet can be called by, told apart by its form alone; whether it is one is for the gateway to say. */
export type Family = "evm" | "starknet" | "bitcoin" | "cosmos" | "solana";

/** The first that matches counts: base58 addresses of Bitcoin are shorter than those of Solana. */
const FORMS: readonly (readonly [RegExp, Family])[] = [
  [/^0x[0-9a-f]{40}$/i, "evm"],
  [/^0x[0-9a-f]+$/i, "starknet"],
  [/^bc1[0-9a-z]+$/i, "bitcoin"],
  [/^[13][1-9A-HJ-NP-Za-km-z]{25,33}$/, "bitcoin"],
  [/^[a-z]+1[02-9ac-hj-np-z]{38,}$/, "cosmos"],
  [/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, "solana"],
];

/** Returns whether the text is a name to be resolved: no address of any family has a dot. */
export const isName = (text: string): boolean => text.includes(".");

/** Returns the family to whose form the address belongs; undefined for none. */
export const familyOf = (address: string): Family | undefined => FORMS.find(([form]) => form.test(address))?.[1];
