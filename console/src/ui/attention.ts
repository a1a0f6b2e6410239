import type { RefObject } from "preact";
import { useEffect, useState } from "preact/hooks";

/** So long after the last touch nothing is read by itself any more. */
const UNTOUCHED_MS = 10 * 60_000;
const LOOKS_EVERY_MS = 15_000;
/** Who scrolls past and comes back at once costs no watch begun anew. */
const LINGERS_MS = 10_000;
const TOUCHES = ["pointerdown", "pointermove", "keydown", "scroll", "wheel", "touchstart"] as const;

/** Returns whether the element was in view at any time: what is never looked at is not read. */
export function useSeen(place: RefObject<HTMLElement | null>): boolean {
  const isInView = useInView(place);
  const [seen, setSeen] = useState(false);
  useEffect(() => {
    if (isInView) setSeen(true);
  }, [isInView]);
  return seen;
}

/** Returns whether the element is in view or just was, in a tab that is shown, and the page was touched in the last ten minutes. */
export function useAttention(place: RefObject<HTMLElement | null>): boolean {
  const isInView = useInView(place, LINGERS_MS);
  const [isAwake, setAwake] = useState(true);
  useEffect(() => {
    let touchedAt = Date.now();
    const look = () => setAwake(document.visibilityState === "visible" && Date.now() - touchedAt < UNTOUCHED_MS);
    const touch = () => {
      const wasAsleep = Date.now() - touchedAt >= UNTOUCHED_MS;
      touchedAt = Date.now();
      if (wasAsleep) look();
    };
    for (const name of TOUCHES) addEventListener(name, touch, { passive: true, capture: true });
    document.addEventListener("visibilitychange", look);
    const timer = setInterval(look, LOOKS_EVERY_MS);
    look();
    return () => {
      for (const name of TOUCHES) removeEventListener(name, touch, { capture: true });
      document.removeEventListener("visibilitychange", look);
      clearInterval(timer);
    };
  }, []);
  return isInView && isAwake;
}

function useInView(place: RefObject<HTMLElement | null>, lingers = 0): boolean {
  const [isInView, setInView] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let leaving: ReturnType<typeof setTimeout> | undefined;
    const look = (entries: readonly IntersectionObserverEntry[]) => {
      clearTimeout(leaving);
      if (entries.at(-1)?.isIntersecting === true) setInView(true);
      else leaving = setTimeout(() => setInView(false), lingers);
    };
    const watcher = new IntersectionObserver(look, { rootMargin: "80px" });
    watcher.observe(element);
    return () => {
      clearTimeout(leaving);
      watcher.disconnect();
    };
  }, [place, lingers]);
  return isInView;
}
