import { useEffect, useRef, useState } from "preact/hooks";
import { usd } from "../../format/figures.ts";
import { revealed } from "../../ui/Text.tsx";
import type { ChainSlice } from "./portfolio.ts";
import { squarified } from "./treemap.ts";

const HEIGHT = 320;
/** The strip with a chain's name, where its box is large enough. */
const STRIP = 18;
const PLOTS = 6;
/** Width of a character at the size of the labels, rather too much than too little. */
const LETTER = 7.2;

/** Areas by chain, within each by token. Goes into `Figures`, which has its words and its table. */
export function ValueMap({ slices }: { slices: readonly ChainSlice[] }) {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const look = () => setWidth(element.clientWidth);
    look();
    const watcher = new ResizeObserver(look);
    watcher.observe(element);
    return () => watcher.disconnect();
  }, []);
  const boxes = squarified(
    slices.map(({ value }) => value),
    { x: 0, y: 0, width, height: HEIGHT },
  );
  return (
    <div class="value-map" ref={place}>
      {width > 0 && (
        <svg width={width} height={HEIGHT} aria-hidden="true">
          {slices.map((slice, index) => {
            const box = boxes[index];
            if (box === undefined || box.width < 1 || box.height < 1) return null;
            return (
              // An inner svg cuts what is larger than its box.
              <svg key={slice.name} x={box.x} y={box.y} width={box.width} height={box.height}>
                <ChainArea slice={slice} colour={`var(--plot-${(index % PLOTS) + 1})`} width={box.width} height={box.height} />
              </svg>
            );
          })}
        </svg>
      )}
    </div>
  );
}

function ChainArea({ slice, colour, width, height }: { slice: ChainSlice; colour: string; width: number; height: number }) {
  const strip = height > 3 * STRIP && width > 40 ? STRIP : 0;
  const boxes = squarified(
    slice.tokens.map(({ value }) => value),
    { x: 1.5, y: 1.5 + strip, width: width - 3, height: height - 3 - strip },
  );
  // A value is never cut: a part of a number is another number.
  const whole = `${slice.name}  ${usd(slice.value)}`;
  const label = whole.length * LETTER < width - 10 ? whole : slice.name;
  return (
    <>
      <rect class="ground" x="1" y="1" width={Math.max(0, width - 2)} height={Math.max(0, height - 2)} style={{ stroke: colour }} />
      {slice.tokens.map((token, index) => {
        const box = boxes[index];
        if (box === undefined || box.width < 1.5 || box.height < 1.5) return null;
        const isLabelled = box.width > 32 && box.height > 17;
        return (
          <svg key={index} x={box.x} y={box.y} width={box.width} height={box.height}>
            <rect class="token" width="100%" height="100%" style={{ fill: colour }} />
            {isLabelled && (
              <text x="5" y="14">
                {fitted(token.name, box.width - 8)}
              </text>
            )}
            {isLabelled && box.height > 34 && usd(token.value).length * LETTER < box.width - 8 && (
              <text class="value" x="5" y="29">
                {usd(token.value)}
              </text>
            )}
          </svg>
        );
      })}
      {strip > 0 && (
        <text class="chain" x="6" y="14">
          {fitted(label, width - 10)}
        </text>
      )}
    </>
  );
}

/** A label as long as there is room for it; symbols are text of strangers. */
function fitted(text: string, room: number): string {
  const most = Math.max(1, Math.floor(room / LETTER));
  const points = [...revealed(text.slice(0, 200))];
  return points.length <= most ? points.join("") : `${points.slice(0, most - 1).join("")}…`;
}
