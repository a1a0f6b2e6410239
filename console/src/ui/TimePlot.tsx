import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useStore } from "../store.ts";
import { theme } from "../app/theme.ts";

export interface Line {
  readonly name: string;
  /** One of the tokens `--plot-1` to `--plot-6`. */
  readonly colour: number;
  readonly values: readonly (number | null)[];
}

/** Lines over time (seconds since 1970). Goes into `Figures`, which has its words and its table. */
export function TimePlot({ times, lines, show, height = 220 }: { times: readonly number[]; lines: readonly Line[]; show: (value: number) => string; height?: number }) {
  const place = useRef<HTMLDivElement>(null);
  const current = useStore(theme);
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
        cursor: { y: false },
        legend: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
        axes: [axis, { ...axis, size: 72, values: (_, splits) => splits.map(show) }],
        series: [{}, ...lines.map((line) => ({ label: line.name, stroke: token(`plot-${line.colour}`), width: 1.75, spanGaps: false, points: { show: times.length < 3 } }))],
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
  }, [times, lines, height, current]);
  return <div class="time-plot" ref={place} style={{ minHeight: `${height}px` }} />;
}
