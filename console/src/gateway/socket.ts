/** One WebSocket for all subscriptions of the tab: opened with the first, closed after the last, opened anew when it breaks. */
import { store } from "../store.ts";
import { parseExact } from "./exact.ts";
import { Failure } from "./failure.ts";
import { pause } from "./pacing.ts";
import { addSpent, key, origin } from "./session.ts";
import { drop, ticket, type Ticket } from "./tickets.ts";

/** A stream costs a unit for each so many events begun. */
const EVENTS_A_UNIT = 100;
const LONGEST_WAIT = 15_000;
/** After so many openings that failed in a row the socket counts as refused: who needs it polls. */
const REFUSED_AFTER = 3;

export type SocketState = "closed" | "opening" | "open" | "refused";
export const socketState = store<SocketState>("closed");

export interface Reader<T> {
  event(event: T): void;
  /** The subscription is over; it is not begun again. Undefined where the stream is complete. */
  end(failure: Failure | undefined): void;
}
interface Subscription {
  readonly watch: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly reader: Reader<unknown>;
  cursor: string | undefined;
  name: string | undefined;
  events: number;
}

const subscriptions = new Set<Subscription>();
let socket: WebSocket | undefined;
let running = false;
let ids = 0;
const asked = new Map<number, Subscription>();

/** Begins a watch; goes on at its cursor when the socket broke. Returns what ends it. */
export function subscribe<T>(watch: string, params: Readonly<Record<string, unknown>>, reader: Reader<T>): () => void {
  const subscription: Subscription = { watch, params, reader: reader as Reader<unknown>, cursor: undefined, name: undefined, events: 0 };
  subscriptions.add(subscription);
  if (socket?.readyState === WebSocket.OPEN) begin(socket, subscription);
  else void run();
  return () => {
    subscriptions.delete(subscription);
    if (socket?.readyState === WebSocket.OPEN && subscription.name !== undefined)
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: ++ids, method: "unsubscribe", params: [subscription.name] }));
    // What follows at once may need the same socket.
    setTimeout(() => subscriptions.size === 0 && socket?.close(), 500);
  };
}

key.subscribe(() => {
  // The new key begins everything anew, and may be let in where the old one was not.
  for (const subscription of subscriptions) subscription.cursor = undefined;
  socket?.close();
  if (subscriptions.size > 0) void run();
});

async function run(): Promise<void> {
  if (running) return;
  running = true;
  try {
    for (let failures = 0; subscriptions.size > 0; ) {
      socketState.set("opening");
      const lasted = await connect();
      socketState.set("closed");
      if (subscriptions.size === 0) break;
      failures = lasted ? 0 : failures + 1;
      if (failures >= REFUSED_AFTER) {
        socketState.set("refused");
        const failure = new Failure("the gateway opens no socket", "UNREACHABLE");
        for (const subscription of [...subscriptions]) end(subscription, failure);
        return;
      }
      await pause(Math.min(LONGEST_WAIT, 500 * 2 ** failures) * (0.75 + Math.random() / 2));
    }
  } finally {
    running = false;
  }
}

/** Serves one socket until it closes. Returns whether anything came over it: some proxies open one and close it at once. */
async function connect(): Promise<boolean> {
  let used: Ticket;
  try {
    used = await ticket();
  } catch (error) {
    const failure = Failure.from(error);
    if (failure.reason === "KEY_INVALID") for (const subscription of [...subscriptions]) end(subscription, failure);
    return false;
  }
  if (subscriptions.size === 0 || used.key !== key.get()) return true;
  const opened = new WebSocket(`${origin.replace(/^http/, "ws")}/${used.text}/v1/ws`);
  socket = opened;
  let isOpen = false;
  let lasted = false;
  // Streams end with their ticket: they go on over another socket before that.
  const renewal = used.until === Infinity ? undefined : setTimeout(() => opened.close(), Math.max(0, used.until - Date.now()));
  opened.onopen = () => {
    isOpen = true;
    socketState.set("open");
    for (const subscription of subscriptions) begin(opened, subscription);
  };
  opened.onmessage = ({ data }) => {
    lasted = true;
    take(String(data));
  };
  await new Promise<void>((resolve) => (opened.onclose = () => resolve()));
  clearTimeout(renewal);
  // Browsers do not say why; one that the page closed itself was not refused.
  if (!isOpen && subscriptions.size > 0) drop(used);
  asked.clear();
  for (const subscription of subscriptions) subscription.name = undefined;
  if (socket === opened) socket = undefined;
  return lasted;
}

function begin(on: WebSocket, subscription: Subscription): void {
  const id = ++ids;
  asked.set(id, subscription);
  const params = subscription.cursor === undefined ? subscription.params : { ...subscription.params, cursor: subscription.cursor };
  on.send(JSON.stringify({ jsonrpc: "2.0", id, method: "subscribe", params: { watch: subscription.watch, params } }));
}

function end(subscription: Subscription, failure: Failure | undefined): void {
  if (!subscriptions.delete(subscription)) return;
  subscription.reader.end(failure);
  if (subscriptions.size === 0) socket?.close();
}

function take(text: string): void {
  const message = parseExact(text) as {
    id?: number;
    result?: unknown;
    error?: unknown;
    params?: { subscription: string; event?: unknown; cursor?: string; error?: unknown; end?: boolean };
  };
  if (message.params === undefined) {
    const subscription = message.id === undefined ? undefined : asked.get(message.id);
    if (subscription === undefined) return;
    asked.delete(message.id as number);
    if (message.error !== undefined) end(subscription, Failure.of(message.error));
    else if (subscriptions.has(subscription)) subscription.name = String(message.result);
    else socket?.send(JSON.stringify({ jsonrpc: "2.0", id: ++ids, method: "unsubscribe", params: [message.result] }));
    return;
  }
  const { subscription: name, event, cursor, error, end: isComplete } = message.params;
  for (const subscription of subscriptions) {
    if (subscription.name !== name) continue;
    if (error !== undefined) end(subscription, Failure.of(error));
    else if (isComplete) end(subscription, undefined);
    else {
      if (subscription.events++ % EVENTS_A_UNIT === 0) addSpent(1);
      subscription.cursor = cursor;
      subscription.reader.event(event);
    }
  }
}
