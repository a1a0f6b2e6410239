import { count, group, percent } from "../../format/figures.ts";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { Again } from "../../ui/Part.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { Text } from "../../ui/Text.tsx";
import { type Range, useUsage } from "./pages.ts";
import { bytes, cacheShare, failed, reasons, type UsageRow } from "./series.ts";

const NAMES = { operation: "Operation", chain: "Chain or source" } as const;
const NAMELESS = {
  operation: "none: refused before an operation was known",
  chain: "none named",
} as const;

/** What was used by operation or by chain, with failures by reason. */
export function Breakdown({ by, range }: { by: "operation" | "chain"; range: Range }) {
  const { data, failure, isLoading, again } = useUsage(by, range);
  const title = `Usage by ${by}`;
  return (
    <>
      <Again what={`usage by ${by}`} isLoading={isLoading} again={again} {...(data && { at: `${count(data.rows.length, "row")}, ${count(data.pages, "page")}` })} />
      {failure && <FailureNotice failure={failure} again={again} />}
      {data === undefined && isLoading && <Loading what={`the usage by ${by}`} />}
      {data?.isCut && <Notice tone="warn">There are more pages than are read here: rows are missing at the end.</Notice>}
      {data !== undefined && data.rows.length === 0 && <p class="faint">Nothing was used in this range.</p>}
      {data !== undefined && data.rows.length > 0 && (
        <div class="tall one-line">
          <Table
            caption={title}
            columns={columnsOf(by)}
            rows={data.rows}
            keyOf={(row) => row[by] ?? ""}
            sorted={{ column: by === "chain" ? "Upstream requests" : "Units", isDescending: true }}
            most={100}
          />
        </div>
      )}
      {by === "chain" && data !== undefined && data.rows.length > 0 && (
        <p class="faint">Requests count under the chain that they name, upstream requests under the chain or the off-chain source that was asked.</p>
      )}
    </>
  );
}

const columnsOf = (by: "operation" | "chain"): readonly Column<UsageRow>[] => [
  { name: NAMES[by], by: (row) => row[by] ?? "", show: (row) => (row[by] ? <Text most={48}>{row[by] ?? ""}</Text> : <span class="faint">{NAMELESS[by]}</span>) },
  { name: "Requests", isNumber: true, by: ({ requests }) => requests, show: ({ requests }) => group(requests) },
  { name: "Items", isNumber: true, by: ({ items }) => items, show: ({ items }) => group(items) },
  { name: "Units", isNumber: true, by: ({ units }) => units, show: ({ units }) => group(units) },
  {
    name: "Cache share",
    isNumber: true,
    by: cacheShare,
    show: (row) => {
      const share = cacheShare(row);
      return share === undefined ? <span class="faint">no requests</span> : percent(share, 1);
    },
  },
  { name: "Errors", isNumber: true, by: failed, show: (row) => group(failed(row)) },
  {
    name: "By reason",
    show: (row) => (
      <span class="reasons">
        {reasons(row).map(([reason, times]) => (
          <span key={reason}>
            <Text most={40}>{reason}</Text> {group(times)}
          </span>
        ))}
      </span>
    ),
  },
  { name: "Upstream requests", isNumber: true, by: ({ upstreamRequests }) => upstreamRequests, show: ({ upstreamRequests }) => group(upstreamRequests) },
  { name: "Received", isNumber: true, by: ({ upstreamBytesReceived }) => upstreamBytesReceived, show: ({ upstreamBytesReceived }) => bytes(upstreamBytesReceived) },
];
