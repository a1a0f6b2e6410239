import { useEffect, useState } from "preact/hooks";

/** A value that parts of the page share: read it, set it, be called when it changes. */
export interface Store<T> {
  get(): T;
  set(value: T): void;
  subscribe(listener: () => void): () => void;
}

/** Returns a store that holds the value. */
export function store<T>(value: T): Store<T> {
  const listeners = new Set<() => void>();
  return {
    get: () => value,
    set(next) {
      if (Object.is(next, value)) return;
      value = next;
      for (const listener of [...listeners]) listener();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}

/** Returns the store's value; the component is drawn anew when it changes. */
export function useStore<T>(from: Store<T>): T {
  const [value, setValue] = useState(() => from.get());
  useEffect(() => {
    const look = () => setValue(() => from.get());
    look();
    return from.subscribe(look);
  }, [from]);
  return value;
}
