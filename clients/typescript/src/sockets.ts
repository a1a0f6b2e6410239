import { Code } from "@connectrpc/connect";
import { Reason } from "../gen/waypost/v1/common_pb.js";
import { type ErrorObject, failureOf, WaypostError } from "./errors.js";
import { parseJson, printJson } from "./json.js";

/** What of the browsers' `WebSocket` is used. */
export type WebSocketClass = new (url: string) => WebSocket;

interface Message {
  id?: number;
  result?: unknown;
  error?: ErrorObject;
  method?: string;
  params?: { subscription: string; event?: object; error?: ErrorObject };
}

/** Events that wait for their reader; more than these and the stream begins again where the reader is. */
const MOST_WAITING = 1_000;
/** A socket without a message for so long is asked for one. */
const SILENCE_MS = 30_000;
const OPENING_MS = 15_000;
/** `WebSocket.OPEN`. */
const OPEN = 1;

/** The streams of one gateway over one socket, which is open while there are any. */
export class Sockets {
  #socket: Promise<Socket> | undefined;
  #readers = 0;

  /**
   * `url` holds the key; `kind` is the global class where none is given. `why` finds out, where a socket does not open,
   * what the gateway has against it: browsers do not say.
   */
  constructor(
    readonly url: string,
    readonly kind: WebSocketClass | undefined,
    readonly why: () => Promise<WaypostError | undefined>,
  ) {}

  /** Yields the events of a stream until it ends or breaks. */
  async *watch(name: string, params: object, signal: AbortSignal): AsyncGenerator<object, void, undefined> {
    this.#readers++;
    try {
      const socket = await until(signal, this.#open());
      const subscription = new Subscription();
      const stop = () => subscription.end(broken("the stream was ended"));
      signal.addEventListener("abort", stop);
      let id: string | undefined;
      try {
        const begun = socket.call("subscribe", { watch: name, params }, (found) => {
          id = found as string;
          socket.attach(id, subscription);
          if (signal.aborted) socket.detach(id);
        });
        await until(signal, begun);
        yield* subscription.events();
      } finally {
        signal.removeEventListener("abort", stop);
        if (id !== undefined) socket.detach(id);
      }
    } finally {
      if (--this.#readers === 0) this.#close();
    }
  }

  #open(): Promise<Socket> {
    if (this.#socket !== undefined) return this.#socket;
    const opening = Socket.open(this.#made()).catch(async (failure) => {
      throw (await this.why()) ?? failure;
    });
    const lost = () => {
      if (this.#socket === opening) this.#socket = undefined;
    };
    opening.then((socket) => socket.ended.then(lost), lost);
    return (this.#socket = opening);
  }

  #made(): WebSocket {
    const kind = this.kind ?? globalThis.WebSocket;
    if (kind === undefined) throw new TypeError("streams need a WebSocket: give one as the option webSocket");
    return new kind(`${this.url.replace(/^http/, "ws")}/ws`);
  }

  #close(): void {
    this.#socket?.then((socket) => socket.close(), () => undefined);
    this.#socket = undefined;
  }
}

class Socket {
  /** Resolves when the socket is closed. */
  readonly ended: Promise<void>;
  readonly #web: WebSocket;
  readonly #calls = new Map<number, { resolve: (result: unknown) => void; reject: (failure: unknown) => void }>();
  readonly #subscriptions = new Map<string, Subscription>();
  #calledCount = 0;
  #silence: ReturnType<typeof setTimeout> | undefined;

  /** Returns the socket once it is open; throws where it does not open. */
  static async open(web: WebSocket): Promise<Socket> {
    const socket = new Socket(web);
    const timer = setTimeout(() => web.close(), OPENING_MS);
    try {
      await new Promise<void>((resolve, reject) => {
        web.addEventListener("open", () => resolve(), { once: true });
        socket.ended.then(() => reject(broken("the socket did not open; a page of another origin needs its place in the gateway's cors_origins")));
      });
    } finally {
      clearTimeout(timer);
    }
    socket.#listen();
    return socket;
  }

  private constructor(web: WebSocket) {
    this.#web = web;
    web.addEventListener("message", ({ data }) => this.#take(String(data)));
    this.ended = new Promise((resolve) => {
      const end = () => {
        clearTimeout(this.#silence);
        const failure = broken("the socket was closed");
        for (const { reject } of this.#calls.values()) reject(failure);
        for (const one of this.#subscriptions.values()) one.end(failure);
        this.#calls.clear();
        this.#subscriptions.clear();
        resolve();
      };
      web.addEventListener("close", end, { once: true });
      // Browsers close what fails; others may not say so.
      web.addEventListener("error", end, { once: true });
    });
  }

  /** Returns the result of a call; `take` sees it before any message that follows it. */
  call(method: string, params: unknown, take: (result: unknown) => void = () => undefined): Promise<unknown> {
    const id = ++this.#calledCount;
    return new Promise((resolve, reject) => {
      if (this.#web.readyState !== OPEN) return reject(broken("the socket was closed"));
      this.#calls.set(id, { resolve: (result) => (take(result), resolve(result)), reject });
      this.#web.send(printJson({ jsonrpc: "2.0", id, method, params }));
    });
  }

  attach(id: string, subscription: Subscription): void {
    this.#subscriptions.set(id, subscription);
  }

  detach(id: string): void {
    if (this.#subscriptions.delete(id)) this.call("unsubscribe", [id]).catch(() => undefined);
  }

  close(): void {
    this.#web.close();
  }

  #take(text: string): void {
    this.#listen();
    let message: Message;
    try {
      message = parseJson(text) as Message;
    } catch {
      return this.close();
    }
    const called = message.id === undefined ? undefined : this.#calls.get(message.id);
    if (called !== undefined) {
      this.#calls.delete(message.id!);
      if (message.error === undefined) called.resolve(message.result);
      else called.reject(failureOf(message.error));
    }
    if (message.method !== "subscription" || message.params === undefined) return;
    const { subscription: id, event, error } = message.params;
    const subscription = this.#subscriptions.get(id);
    if (subscription === undefined) return;
    if (event !== undefined) return subscription.push(event);
    this.#subscriptions.delete(id);
    subscription.end(error && failureOf(error));
  }

  /** Browsers answer pings unseen: where nothing comes, a call that changes nothing shows whether the socket lives. */
  #listen(): void {
    clearTimeout(this.#silence);
    if (this.#web.readyState !== OPEN) return;
    this.#silence = setTimeout(() => {
      this.call("unsubscribe", [""]).catch(() => undefined);
      this.#silence = setTimeout(() => this.close(), OPENING_MS);
    }, SILENCE_MS);
  }
}

/** The events of one stream that came, until they are read. */
class Subscription {
  #waiting: object[] = [];
  #ending: { failure: WaypostError | undefined } | undefined;
  #wake: () => void = () => undefined;

  push(event: object): void {
    if (this.#ending !== undefined) return;
    if (this.#waiting.length === MOST_WAITING) {
      this.#waiting = [];
      return this.end(new WaypostError("the events came faster than they were read", Reason.SLOW_CONSUMER, undefined, undefined, undefined, Code.ResourceExhausted));
    }
    this.#waiting.push(event);
    this.#wake();
  }

  end(failure: WaypostError | undefined): void {
    this.#ending ??= { failure };
    this.#wake();
  }

  async *events(): AsyncGenerator<object, void, undefined> {
    while (true) {
      for (let event = this.#waiting.shift(); event !== undefined; event = this.#waiting.shift()) yield event;
      if (this.#ending !== undefined) {
        if (this.#ending.failure === undefined) return;
        throw this.#ending.failure;
      }
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** Returns what the promise comes to; throws at once when the signal ends the stream. */
function until<T>(signal: AbortSignal, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(broken("the stream was ended"));
    signal.addEventListener("abort", stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", stop));
    if (signal.aborted) stop();
  });
}

function broken(message: string): WaypostError {
  return new WaypostError(message, Reason.UNSPECIFIED, undefined, undefined, undefined, Code.Unavailable);
}
