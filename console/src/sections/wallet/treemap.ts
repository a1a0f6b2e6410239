/** Areas in proportion to values: a squarified treemap (Bruls, Huizing, van Wijk). */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Returns a box for each value, in the order given. Values are positive and descend; the boxes fill the whole without overlap. */
export function squarified(values: readonly number[], whole: Box): Box[] {
  const boxes: Box[] = [];
  const total = values.reduce((sum, value) => sum + value, 0);
  if (total <= 0 || whole.width <= 0 || whole.height <= 0) return values.map(() => ({ x: whole.x, y: whole.y, width: 0, height: 0 }));
  const scale = (whole.width * whole.height) / total;
  let { x, y, width, height } = whole;
  let place = 0;
  while (place < values.length) {
    const side = Math.min(width, height);
    const row: number[] = [];
    let area = 0;
    while (place + row.length < values.length) {
      const next = (values[place + row.length] ?? 0) * scale;
      if (row.length > 0 && worst([...row, next], area + next, side) > worst(row, area, side)) break;
      row.push(next);
      area += next;
    }
    const depth = side > 0 ? area / side : 0;
    let along = 0;
    for (const part of row) {
      const length = depth > 0 ? part / depth : 0;
      boxes.push(width >= height ? { x, y: y + along, width: depth, height: length } : { x: x + along, y, width: length, height: depth });
      along += length;
    }
    if (width >= height) {
      x += depth;
      width = Math.max(0, width - depth);
    } else {
      y += depth;
      height = Math.max(0, height - depth);
    }
    place += row.length;
  }
  return boxes;
}

/** Returns how far the longest of the row's boxes is from a square. */
function worst(row: readonly number[], area: number, side: number): number {
  const square = side * side;
  return Math.max((square * Math.max(...row)) / (area * area), (area * area) / (square * Math.min(...row)));
}
