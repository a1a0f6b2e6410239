import type { ComponentChildren, RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { count } from "../format/figures.ts";
import { route } from "../app/routes.ts";
import { useStore } from "../store.ts";
import { useSeen } from "./attention.ts";

/** A part of a section, with the units of a reading in its head. It is read when it comes into view. */
export function Part({
  name,
  id,
  units,
  children,
}: {
  name: string;
  /** As `?part=` in the address has it. */
  id: string;
  units: number;
  children: (place: RefObject<HTMLElement | null>) => ComponentChildren;
}) {
  const place = useRef<HTMLElement>(null);
  const isSeen = useSeen(place);
  const isWanted = useStore(route).query.get("part") === id;
  useEffect(() => {
    if (!isWanted) return;
    place.current?.scrollIntoView({ block: "start" });
    place.current?.focus({ preventScroll: true });
  }, [isWanted]);
  return (
    <section class="card part" aria-label={name} ref={place} tabIndex={-1}>
      <header class="row">
        <h2>{name}</h2>
        <span class="faint">{count(units, "unit")} a reading</span>
      </header>
      {isSeen && children(place)}
    </section>
  );
}

/** When something was read last and a button that reads it anew. */
export function Again({ what, isLoading, again, at }: { what: string; isLoading: boolean; again: () => void; at?: string }) {
  return (
    <p class="row again">
      <button type="button" class="small" onClick={again} disabled={isLoading} aria-label={`${isLoading ? "Reading …" : "Read again"}: ${what}`}>
        {isLoading ? "Reading …" : "Read again"}
      </button>
      {at !== undefined && <span class="faint">{at}</span>}
    </p>
  );
}
