import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { moment } from "../format/times.ts";
import { useStore } from "../store.ts";
import { theme } from "../app/theme.ts";
import { Text } from "./Text.tsx";

export interface Line {
  readonly name: string;
  /** One of the tokens `--plot-1` to `--plot-6`. */
  readonly colour: number;
  readonly values: readonly (number | null)[];
}
/** Lines differ by more than their colour. */
const DASHES: readonly string[] = ["", "8 4", "2 3", "10 3 2 3", "5 5", "1 2"];
const dashOf = (place: number): string => DASHES[place % DASHES.length] ?? "";

/**
 * Lines over time (seconds since 1970). Goes into `Figures`, which has its words and its table. Under it stand the lines' names, and
 * their values at the pointer; `when` says a moment, `floor` is a value that the scale always has.
 */
export function TimePlot({
  times,
  lines,
  show,
  when = moment,
  floor,
  height = 220,
}: {
  times: readonly number[];
  lines: readonly Line[];
  show: (value: number) => string;
  when?: (milliseconds: number) => string;
  floor?: number;
  height?: number;
}) {
  const place = useRef<HTMLDivElement>(null);
  const current = useStore(theme);
  const [at, setAt] = useState<number | undefined>();
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const style = getComputedStyle(element);
    const token = (name: string): string => {
      // Canvas knows no light-dark(): the browser resolves it.
      element.style.color = `var(--${name})`;
      const colour = style.color;
      element.style.color = "";
      return colour;
    };
    const axis = { stroke: token("faint"), grid: { stroke: token("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui, sans-serif" };
    const plot = new uPlot(
      {
        width: element.clientWidth || 320,
        height,
        cursor: { y: false, drag: { x: false, y: false } },
        legend: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        ...(floor !== undefined && { scales: { y: { range: { min: { soft: floor, mode: 1 }, max: { pad: 0.1, soft: floor + 1, mode: 1 } } } } }),
        axes: [{ ...axis, size: 28, values: (_, splits, _axis, _space, step) => splits.map((seconds) => tick(seconds, step)) }, { ...axis, size: 72, values: (_, splits) => splits.map(show) }],
        series: [
          {},
          ...lines.map((line, index) => ({
            label: line.name,
            stroke: token(`plot-${line.colour}`),
            width: 1.75,
            dash: dashOf(index).split(" ").map(Number).filter(Boolean),
            spanGaps: false,
            points: { show: false, filter: () => lonely(line.values) },
          })),
        ],
        hooks: { setCursor: [({ cursor }) => setAt(cursor.idx ?? undefined)] },
      },
      [[...times], ...lines.map((line) => [...line.values])],
      element,
    );
    const watcher = new ResizeObserver(() => element.clientWidth > 0 && plot.setSize({ width: element.clientWidth, height }));
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      plot.destroy();
    };
  }, [times, lines, height, floor, current]);
  const time = at === undefined ? undefined : times[at];
  return (
    <>
      <div class="time-plot" ref={place} style={{ minHeight: `${height}px` }} />
      <p class="plot-lines">
        {lines.map((line, index) => (
          <span key={line.name}>
            <svg width="22" height="8" aria-hidden="true">
              <path d="M0 4h22" style={{ stroke: `var(--plot-${line.colour})`, strokeWidth: 2, strokeDasharray: dashOf(index) || "none" }} />
            </svg>{" "}
            <Text>{line.name}</Text> {time !== undefined && <b>{valueAt(line, at, show)}</b>}
          </span>
        ))}
        {time !== undefined && <span>{when(time * 1000)}</span>}
      </p>
    </>
  );
}

const valueAt = (line: Line, at: number | undefined, show: (value: number) => string): string => {
  const value = at === undefined ? null : line.values[at];
  return value === null || value === undefined ? "gap" : show(value);
};

const DAY_S = 86_400;
/** Returns `11-23` of days and midnights, `14:00` of what lies between; UTC. */
function tick(seconds: number, step: number): string {
  const text = new Date(seconds * 1000).toISOString();
  return step >= DAY_S || seconds % DAY_S === 0 ? text.slice(5, 10) : text.slice(11, 16);
}

/** Returns the places of values between two gaps, which no line joins: they are drawn as points. */
function lonely(values: readonly (number | null)[]): number[] | null {
  const found = values.flatMap((value, place) => (value !== null && (values[place - 1] ?? null) === null && (values[place + 1] ?? null) === null ? [place] : []));
  return found.length > 0 ? found : null;
}
