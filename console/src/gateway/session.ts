/** The key of this tab: the only place that holds it. Session storage keeps it over reloads and no longer. And what the tab spends. */
import { store } from "../store.ts";

const PLACE = "waypost.key";
export const DEMO = "demo";
export const LOCAL = "local";
const SHAPE = /^[A-Za-z0-9_-]{1,128}$/;

/** `devnet` or `mainnet`: what the gateway says in the page's head. */
export const profile = document.querySelector<HTMLMetaElement>('meta[name="waypost-profile"]')?.content ?? "mainnet";
export const isDevnet = profile === "devnet";

/** Where the API is reached: the page's own origin. */
export const origin = location.origin;

/** What a tab without a key of its own uses. */
export const usual = isDevnet ? LOCAL : DEMO;

function stored(): string {
  try {
    return sessionStorage.getItem(PLACE) ?? usual;
  } catch {
    return usual; // storage is switched off: the key lives as long as the page
  }
}

export const key = store(stored());

/** Units that this tab has spent since it was opened. */
export const spent = store(0);
/** Adds units, of streams too. */
export const addSpent = (units: number): void => spent.set(spent.get() + units);

/** Returns whether the tab goes without a key: one request a second, no account. */
export const isDemo = (): boolean => key.get() === DEMO;

/** Takes a key for this tab. Returns false where it cannot be one. */
export function enterKey(text: string): boolean {
  const given = text.trim();
  if (!SHAPE.test(given)) return false;
  try {
    sessionStorage.setItem(PLACE, given);
  } catch {
    // as above
  }
  key.set(given);
  return true;
}

/** Forgets the key; the tab goes on as one without. */
export function forgetKey(): void {
  try {
    sessionStorage.removeItem(PLACE);
  } catch {
    // as above
  }
  key.set(usual);
}
