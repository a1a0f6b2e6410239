/** Figures as people read them. Amounts are decimal text and stay text. */

const DECIMAL = /^(-?)([0-9]+)(?:\.([0-9]+))?$/;

/** Returns the amount with groups of three and at most so many digits after the point (cut, not rounded); other text as it is. */
export function amount(text: string, digits = 6): string {
  const found = DECIMAL.exec(text);
  if (found === null) return text;
  const [, sign = "", whole = "0", rest = ""] = found;
  const shown = whole.replace(/^0+(?=.)/, "");
  let cut = rest.slice(0, digits).replace(/0+$/, "");
  // Something is not nothing: keep the first digit that counts.
  if (cut === "" && shown === "0" && /[1-9]/.test(rest)) cut = rest.slice(0, rest.search(/[1-9]/) + 2).replace(/0+$/, "");
  return sign + group(shown) + (cut === "" ? "" : `.${cut}`);
}

/** Returns whole digits in groups of three. */
export const group = (digits: string | number | bigint): string => String(digits).replace(/\B(?=(?:[0-9]{3})+(?![0-9]))/g, "\u202f");

/** Returns US dollars: cents from one dollar on, four digits that count below. */
export function usd(value: number): string {
  const size = Math.abs(value);
  const sign = value < 0 ? "-" : "";
  if (size === 0) return "$0";
  if (size >= 1e9) return `${sign}$${trimmed(size / 1e9, 2)}B`;
  if (size >= 1e7) return `${sign}$${trimmed(size / 1e6, 2)}M`;
  if (size >= 1) {
    const [whole = "0", cents = "00"] = size.toFixed(2).split(".");
    return `${sign}$${group(whole)}.${cents}`;
  }
  return `${sign}$${significant(size)}`;
}

/** Returns per cent of a figure that is in per cent already. */
export const percent = (value: number, digits = 2): string => `${value.toFixed(digits)} %`;

/** Returns a number with four digits that count, never in powers of ten above 1e-9. */
export function significant(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1000) return group(Math.round(value));
  if (size < 1e-9) return value.toExponential(2);
  const digits = Math.max(0, 3 - Math.floor(Math.log10(size)));
  return trimmed(value, Math.min(digits, 14));
}

function trimmed(value: number, digits: number): string {
  const text = value.toFixed(digits);
  return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
}

/** Returns a count: `1 row`, `3 rows`. */
export const count = (number: number, noun: string, nouns = `${noun}s`): string => `${group(number)} ${number === 1 ? noun : nouns}`;

/** Returns an address or hash cut in its middle. */
export const short = (text: string, head = 6, tail = 4): string =>
  text.length <= head + tail + 1 ? text : `${text.slice(0, head)}…${text.slice(-tail)}`;
