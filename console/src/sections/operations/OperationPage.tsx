import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, hashOf, route, routeOf } from "../../app/routes.ts";
import { count } from "../../format/figures.ts";
import { call, post } from "../../gateway/calls.ts";
import { Failure } from "../../gateway/failure.ts";
import { key, usual } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { Text } from "../../ui/Text.tsx";
import type { Operation } from "./catalogue.ts";
import { Events, useWatch } from "./Events.tsx";
import { Fields, idOf, type Complaint } from "./Form.tsx";
import { fieldsOf, linkOf, paramsOf, pathNamed, pathsOf, shown, Unsendable, valuesOf, type Field, type Values } from "./form.ts";
import { announced, Answer, type Run } from "./Result.tsx";
import { Snippets } from "./Snippets.tsx";

const LINK_WAITS = 300;

/** One operation, reached from another page where `isArrival` is true: what it does, its form, its answer, and the same call in other languages. */
export function OperationPage({ operation, isArrival }: { operation: Operation; isArrival: boolean }) {
  const { name, kind } = operation;
  const fields = useMemo(() => fieldsOf(operation.params), [operation]);
  const [values, change] = useLinkedValues(operation, fields);
  const [complaint, setComplaint] = useState<Complaint | undefined>();
  const chains = useChains(operation, fields);
  const { run, start, stop } = useRun(name);
  const watch = useWatch(name);
  const isWatch = kind === "watch";
  const isRunning = isWatch ? watch.stream.state === "running" : run.state === "running";

  const complain = (field: string, message: string) => {
    const path = pathNamed(field, pathsOf(fields, values), operation.takesItems);
    setComplaint(path === undefined ? undefined : { path, message });
    if (path !== undefined) requestAnimationFrame(() => document.getElementById(idOf(path))?.focus());
  };
  const failure = isWatch ? watch.stream.failure : run.state === "failed" ? run.failure : run.state === "answered" && !run.outcome.ok ? run.outcome.failure : undefined;
  useEffect(() => {
    if (failure?.field !== undefined) complain(failure.field, failure.message);
  }, [failure]);

  let params: Record<string, unknown> | undefined;
  let unsendable: Unsendable | undefined;
  try {
    params = paramsOf(fields, values);
  } catch (error) {
    if (!(error instanceof Unsendable)) throw error;
    unsendable = error;
  }
  const send = () => {
    setComplaint(undefined);
    if (unsendable !== undefined) complain(unsendable.field, unsendable.message);
    else if (params !== undefined) isWatch ? watch.start(params) : start(params);
  };
  const onChange = (next: Values) => {
    if (complaint !== undefined) setComplaint(undefined);
    change(next);
  };
  const exemplary = fields.filter((field) => field.name in operation.fullExample);
  const fill = () => onChange({ ...values, ...Object.fromEntries(exemplary.map((field) => [field.name, shown(field, operation.fullExample[field.name])])) });
  // Typing draws the form anew, not an answer of megabytes.
  const answer = useMemo(() => (isWatch ? <Events name={name} stream={watch.stream} /> : <Answer name={name} run={run} />), [isWatch, name, run, watch.stream]);

  return (
    <div class="op" onKeyDown={(event) => (event.ctrlKey || event.metaKey) && event.key === "Enter" && (event.preventDefault(), send())}>
      <Head operation={operation} isArrival={isArrival} />
      <div class="op-columns">
        <form
          class="card"
          aria-label={`Parameters of ${name}`}
          noValidate
          onSubmit={(event) => {
            event.preventDefault();
            send();
          }}
        >
          <h2>Parameters</h2>
          {fields.length === 0 ? <p class="faint">It takes none.</p> : <Fields fields={fields} values={values} onChange={onChange} chains={chains} complaint={complaint} />}
          <div class="row op-actions">
            <button type="submit" class="main" title="Ctrl+Enter">
              {isWatch ? "Start" : "Run"}
            </button>
            {/* Not disabled, which would lose the focus of who pressed it. */}
            <button type="button" aria-disabled={!isRunning} onClick={() => isRunning && (isWatch ? watch.stop() : stop())}>
              Stop
            </button>
            {exemplary.length > 0 && (
              <button type="button" class="quiet" onClick={fill}>
                Fill all examples
              </button>
            )}
          </div>
        </form>
        <section class="card op-result" role="region" aria-label="Result">
          <h2>{isWatch ? "Events" : "Result"}</h2>
          {!isWatch && (
            <p class="hidden" role="status">
              {announced(name, run)}
            </p>
          )}
          {answer}
        </section>
        <Snippets operation={operation} params={params} />
      </div>
    </div>
  );
}

function Head({ operation, isArrival }: { operation: Operation; isArrival: boolean }) {
  const { name, summary, description, families, chains, grpc } = operation;
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${name} · Waypost`;
    scrollTo(0, 0);
    // Who came by a link within the page goes on reading here.
    if (isArrival) title.current?.focus({ preventScroll: true });
  }, [name]);
  return (
    <header class="op-head">
      <h1 ref={title} tabIndex={-1}>
        <Text most={300}>{name}</Text>
      </h1>
      <a class="op-back" href={hashOf("operations")}>
        All operations
      </a>
      <p class="op-summary">
        <Text most={2000}>{summary}</Text> <Text most={4000}>{description}</Text>
      </p>
      <dl class="op-facts">
        <div>
          <dt>Cost</dt>
          <dd>{costOf(operation)}</dd>
        </div>
        {families !== undefined && (
          <div>
            <dt>Chain families</dt>
            <dd>
              <Text most={400}>{families}</Text>
            </dd>
          </div>
        )}
        {chains !== undefined && (
          <div>
            <dt>Chains</dt>
            <dd>
              <Text most={400}>{chains.join(", ")}</Text>
            </dd>
          </div>
        )}
        {grpc !== undefined && (
          <div>
            <dt>gRPC</dt>
            <dd>
              <Text most={400} mono>
                {grpc}
              </Text>
            </dd>
          </div>
        )}
      </dl>
    </header>
  );
}

/** Returns what a call costs, in words. */
export function costOf({ kind, cost, takesItems }: Operation): string {
  if (kind === "watch") return "a unit for 100 events";
  if (cost === undefined) return "not stated";
  return count(cost, "unit") + (takesItems ? " an item" : "");
}

/** What is typed, kept in the deep link. A link that is followed while the page is open is taken over. */
function useLinkedValues(operation: Operation, fields: readonly Field[]): [Values, (values: Values) => void] {
  const { query } = useStore(route);
  const written = useRef<string | undefined>(undefined);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const [values, setValues] = useState<Values>(() => valuesOf(fields, query, operation.example));
  useEffect(() => {
    if (written.current === undefined || route.get().name !== operation.name || query.toString() === written.current) return;
    setValues(valuesOf(fields, query, operation.example));
  }, [query]);
  useEffect(() => {
    written.current = query.toString();
    return () => clearTimeout(timer.current);
  }, []);
  const change = (next: Values) => {
    setValues(next);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      if (routeOf(location.hash).name !== operation.name) return; // another one was gone to
      const link = linkOf(fields, next);
      // A key pasted into a field stays out of the address.
      for (const [member, value] of [...link]) if (key.get() !== usual && value.includes(key.get())) link.delete(member);
      written.current = link.toString();
      go(hashOf(operation.name) + (written.current && `?${written.current}`), { replace: true });
    }, LINK_WAITS);
  };
  return [values, change];
}

/** Makes one call at a time: a further one replaces it. */
function useRun(name: string): { run: Run; start: (params: Readonly<Record<string, unknown>>) => void; stop: () => void } {
  const [run, setRun] = useState<Run>({ state: "none" });
  const current = useRef<AbortController | undefined>(undefined);
  const turn = useRef(0);
  useEffect(() => () => current.current?.abort(), []);
  const start = (params: Readonly<Record<string, unknown>>) => {
    current.current?.abort();
    const mine = new AbortController();
    current.current = mine;
    setRun({ state: "running" });
    post([{ method: name, params }], mine.signal).then(
      ({ outcomes: [outcome], facts }) => {
        if (mine.signal.aborted || outcome === undefined) return;
        setRun({ state: "answered", outcome, facts, turn: ++turn.current });
      },
      (error: unknown) => {
        if (!mine.signal.aborted) setRun({ state: "failed", failure: Failure.from(error) });
      },
    );
  };
  const stop = () => {
    current.current?.abort();
    setRun({ state: "stopped" });
  };
  return { run, start, stop };
}

interface Health {
  readonly chains: Readonly<Record<string, readonly string[]>>;
}
let slugs: Promise<readonly string[]> | undefined;

/** Returns the chains that the operation takes, none while they are read; undefined where they are not known and any text may be typed. */
function useChains({ chains }: Operation, fields: readonly Field[]): readonly string[] | undefined {
  const [every, setEvery] = useState<readonly string[] | undefined>([]);
  const user = useStore(key);
  const isNeeded = chains === undefined && fields.some((field) => field.control === "chain" || field.members.some(({ control }) => control === "chain"));
  useEffect(() => {
    if (!isNeeded) return;
    slugs ??= call<Health>("getHealth").then((health) => Object.values(health.chains).flat().sort());
    slugs.then(setEvery, () => {
      slugs = undefined;
      setEvery(undefined);
    });
  }, [isNeeded, user]);
  return chains ?? every;
}
