import { parse, stringify } from "lossless-json";

/** Returns the value of a JSON text; integers beyond 2^53 are bigints, so that none is rounded. */
export function parseJson(text: string): unknown {
  return parse(text, null, (digits) => {
    const value = Number(digits);
    return Number.isSafeInteger(value) || !/^-?\d+$/.test(digits) ? value : BigInt(digits);
  });
}

/** Returns the JSON text of a value; bigints are integers in it. */
export function printJson(value: unknown): string {
  return stringify(value) ?? "null";
}
