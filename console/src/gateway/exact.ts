/** JSON in which integers beyond 2^53 stay what they are, as bigint. */
type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const parse = JSON.parse as (text: string, reviver: Reviver) => unknown;
const WHOLE = /^-?[0-9]+$/;

/** Returns what the text describes. Throws SyntaxError. */
export function parseExact(text: string): unknown {
  return parse(text, (_, value, context) => {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return value;
    const source = context?.source;
    return source !== undefined && WHOLE.test(source) ? BigInt(source) : value;
  });
}

/** Returns the value as JSON text, bigints as the integers that they are; `indent` as of JSON.stringify. */
export function printExact(value: unknown, indent?: number): string {
  const raw = (JSON as { rawJSON?: (text: string) => unknown }).rawJSON;
  return (
    JSON.stringify(
      value,
      (_, member: unknown) => (typeof member === "bigint" ? (raw?.(String(member)) ?? String(member)) : member),
      indent,
    ) ?? "null"
  );
}
