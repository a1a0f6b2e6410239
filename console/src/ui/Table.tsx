import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { revealed, Text } from "./Text.tsx";

export interface Column<Row> {
  readonly name: string;
  readonly show: (row: Row) => ComponentChildren;
  /** By what its rows are sorted; a column without it is not sorted. Undefined values come last either way. */
  readonly by?: (row: Row) => number | string | bigint | undefined;
  readonly isNumber?: boolean;
}

/** A table that scrolls within itself and sorts by the columns that can be. */
export function Table<Row>({
  caption,
  columns,
  rows,
  keyOf,
  sorted,
  showCaption = false,
  most = Infinity,
}: {
  caption: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row, place: number) => string;
  sorted?: { readonly column: string; readonly isDescending: boolean };
  showCaption?: boolean;
  /** Rows that are shown at first, after sorting; a button shows as many more. */
  most?: number;
}) {
  const [order, setOrder] = useState(sorted);
  const [limit, setLimit] = useState(most);
  const by = columns.find((column) => column.name === order?.column)?.by;
  const shown = by === undefined || order === undefined ? rows : [...rows].sort((a, b) => compared(by(a), by(b), order.isDescending));
  return (
    <>
      <div class="table-region" role="region" aria-label={revealed(caption)} tabIndex={0}>
        <table>
          <caption class={showCaption ? "" : "hidden"}>
            <Text most={200}>{caption}</Text>
          </caption>
          <thead>
            <tr>
              {columns.map((column) => {
                const isBy = column.name === order?.column;
                const state = isBy ? (order?.isDescending ? "descending" : "ascending") : undefined;
                return (
                  <th key={column.name} scope="col" class={column.isNumber ? "number" : ""} {...(state && { "aria-sort": state })}>
                    {column.by === undefined ? (
                      <Text>{column.name}</Text>
                    ) : (
                      <button type="button" class="sort" onClick={() => setOrder({ column: column.name, isDescending: isBy ? !order?.isDescending : column.isNumber === true })}>
                        <Text>{column.name}</Text>
                        <span aria-hidden="true">{isBy ? (order?.isDescending ? " ↓" : " ↑") : " ↕"}</span>
                      </button>
                    )}
                  </th>
                );
              })}
            </tr>
          </thead>
          <tbody>
            {shown.slice(0, limit).map((row, place) => (
              <tr key={keyOf(row, place)}>
                {columns.map((column, index) =>
                  index === 0 ? (
                    <th key={column.name} scope="row">
                      {column.show(row)}
                    </th>
                  ) : (
                    <td key={column.name} class={column.isNumber ? "number" : ""}>
                      {column.show(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown.length > limit && (
        <p class="row">
          <button type="button" class="small" onClick={() => setLimit(limit + most)}>
            {Math.min(most, shown.length - limit)} more rows
          </button>
          <span class="faint">
            {limit} of {shown.length} shown
          </span>
        </p>
      )}
    </>
  );
}

type Value = number | string | bigint | undefined;

function compared(a: Value, b: Value, isDescending: boolean): number {
  if (a === undefined || b === undefined) return a === b ? 0 : a === undefined ? 1 : -1;
  const order = typeof a === "string" && typeof b === "string" ? a.localeCompare(b) : a < b ? -1 : a > b ? 1 : 0;
  return isDescending ? -order : order;
}
