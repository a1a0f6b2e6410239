import { useMemo } from "preact/hooks";
import { count, group, percent } from "../../format/figures.ts";
import { day, moment } from "../../format/times.ts";
import { Figures } from "../../ui/Figures.tsx";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { Again } from "../../ui/Part.tsx";
import { type Column, Table } from "../../ui/Table.tsx";
import { type Line, TimePlot } from "../../ui/TimePlot.tsx";
import { type Range, useUsage } from "./pages.ts";
import { bytes, cacheShare, countSummary, failed, reasons, seriesOf, type Step, type UsageFigures } from "./series.ts";

type Count = "requests" | "units" | "errors";
const PLOTS: readonly { readonly of: Count; readonly noun: string; readonly title: string; readonly colour: number }[] = [
  { of: "requests", noun: "request", title: "Requests", colour: 1 },
  { of: "units", noun: "unit", title: "Units", colour: 2 },
  { of: "errors", noun: "error", title: "Errors", colour: 3 },
];
const whole = (value: number): string => (Number.isInteger(value) ? group(value) : "");

/** Totals of the range and plots of them by hour or day. */
export function OverTime({ step, range }: { step: Step; range: Range }) {
  const { data, failure, isLoading, again } = useUsage(step, range);
  const series = useMemo(() => (data === undefined ? undefined : seriesOf(data.rows, step, data.from, data.to, new Date())), [data]);
  const lines = useMemo(
    () => (series === undefined ? undefined : new Map(PLOTS.map(({ of, title, colour }): [Count, readonly Line[]] => [of, [{ name: title, colour, values: series[of] }]]))),
    [series],
  );
  const cache = useMemo((): readonly Line[] => (series === undefined ? [] : [{ name: "Cache share", colour: 4, values: series.cache }]), [series]);
  const when = step === "day" ? day : (at: number) => `${moment(at).slice(0, 16)} UTC`;
  return (
    <>
      <Again
        what="usage over time"
        isLoading={isLoading}
        again={again}
        {...(data && { at: `account ${data.account}, ${data.from} to ${data.to}, ${count(data.pages, "page")}` })}
      />
      {failure && <FailureNotice failure={failure} again={again} />}
      {data === undefined && isLoading && <Loading what="the usage of this key" />}
      {data?.isCut && <Notice tone="warn">There are more pages than are read here: the plots end early, the totals are of the whole range.</Notice>}
      {data !== undefined && <Totals total={data.total} />}
      {data !== undefined && series !== undefined && lines !== undefined && (
        <div class="plots">
          {PLOTS.map(({ of, noun, title }) => (
            <Figures
              key={of}
              title={`${title} by ${step}`}
              summary={countSummary(series[of], series.times, step, noun, (seconds) => when(seconds * 1000))}
              picture={<TimePlot times={series.times} lines={lines.get(of) ?? []} show={whole} when={when} floor={0} height={180} />}
              table={() => <StepTable title={title} step={step} times={series.times} values={series[of]} show={(value) => group(value)} when={when} />}
            />
          ))}
          <Figures
            title={`Cache share by ${step}`}
            summary={shareSummary(series.cache, step, cacheShare(data.total))}
            picture={
              series.cache.every((share) => share === null) ? (
                <p class="faint">Nothing to draw.</p>
              ) : (
                <TimePlot times={series.times} lines={cache} show={(value) => percent(value, Number.isInteger(value) ? 0 : 1)} when={when} floor={0} height={180} />
              )
            }
            table={() => <StepTable title="Cache share" step={step} times={series.times} values={series.cache} show={(value) => percent(value, 1)} when={when} />}
          />
        </div>
      )}
    </>
  );
}

function shareSummary(shares: readonly (number | null)[], step: Step, whole: number | undefined): string {
  const known = shares.filter((share) => share !== null).length;
  if (whole === undefined) return "No requests, so no share.";
  return `Of the requests of the range caches alone answered ${percent(whole, 1)}. ${group(known)} of ${count(shares.length, step)} with requests; what is without has no share and is a gap.`;
}

function Totals({ total }: { total: UsageFigures }) {
  const share = cacheShare(total);
  const errors = failed(total);
  const members: readonly [string, string, (string | undefined)?][] = [
    ["Requests", group(total.requests), count(Number(total.items), "item")],
    ["Units", group(total.units)],
    ["Errors", group(errors), errors === 0 ? undefined : reasons(total).map(([reason, times]) => `${reason} ${group(times)}`).join(", ")],
    ["Cache share", share === undefined ? "none" : percent(share, 1), share === undefined ? "no requests" : count(Number(total.cacheHits), "request")],
    ["Upstream requests", group(total.upstreamRequests), `${bytes(total.upstreamBytesSent)} sent, ${bytes(total.upstreamBytesReceived)} received`],
    ["Shared", group(total.joined), `calls joined; ${group(total.folded)} reads folded`],
  ];
  return (
    <dl class="totals" aria-label="Totals">
      {members.map(([name, value, more]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>
            <b>{value}</b>
            {more !== undefined && <span class="faint">{more}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

function StepTable({
  title,
  step,
  times,
  values,
  show,
  when,
}: {
  title: string;
  step: Step;
  times: readonly number[];
  values: readonly (number | null)[];
  show: (value: number) => string;
  when: (milliseconds: number) => string;
}) {
  const rows = times.map((time, place) => ({ time, value: values[place] ?? undefined })).reverse();
  const columns: readonly Column<(typeof rows)[number]>[] = [
    { name: step === "day" ? "Day, UTC" : "Hour", by: ({ time }) => time, show: ({ time }) => when(time * 1000) },
    { name: title, isNumber: true, by: ({ value }) => value, show: ({ value }) => (value === undefined ? <span class="faint">no requests</span> : show(value)) },
  ];
  return (
    <div class="tall one-line">
      <Table caption={`${title} by ${step}`} columns={columns} rows={rows} keyOf={({ time }) => String(time)} most={100} />
    </div>
  );
}
