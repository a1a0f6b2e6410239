/** A small line without axes; the words beside it say what it shows. Undefined values are gaps. `range` is within its height at least. */
export function Sparkline({ values, width = 96, height = 24, range = [] }: { values: readonly (number | undefined)[]; width?: number; height?: number; range?: readonly number[] }) {
  const known = values.filter((value) => value !== undefined);
  if (known.length < 2) return <svg class="sparkline" width={width} height={height} aria-hidden="true" />;
  const low = Math.min(...known, ...range);
  const span = Math.max(...known, ...range) - low || 1;
  const step = width / Math.max(1, values.length - 1);
  let path = "";
  let isGap = true;
  values.forEach((value, place) => {
    if (value !== undefined) path += `${isGap ? "M" : "L"}${(place * step).toFixed(1)} ${(height - 2 - ((value - low) / span) * (height - 4)).toFixed(1)}`;
    isGap = value === undefined;
  });
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <path d={path} />
    </svg>
  );
}
