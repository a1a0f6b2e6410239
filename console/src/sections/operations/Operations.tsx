import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { go, hashOf, route, routeOf } from "../../app/routes.ts";
import { count } from "../../format/figures.ts";
import { operations as readOperations, published as readPublished } from "../../gateway/document.ts";
import { Failure } from "../../gateway/failure.ts";
import { useStore } from "../../store.ts";
import { FailureNotice, Loading, Notice } from "../../ui/Notice.tsx";
import { Text } from "../../ui/Text.tsx";
import { grouped, operationsOf, search, type Group, type Operation } from "./catalogue.ts";
import { costOf, OperationPage } from "./OperationPage.tsx";
import "./operations.css";

const LIST = "operations";
const PUBLISHED = /^svc_/;
const PAGE = 50;
const LINK_WAITS = 300;
const SAID_AFTER = 600;

/** Where the list was left, and with which words: who comes back finds it so. */
const left = { query: "", top: 0 };

type Loaded = readonly Operation[] | Failure | undefined;

export default function Operations() {
  const { name } = useStore(route);
  const first = useRef(name);
  const hasLeft = useRef(false);
  hasLeft.current ||= name !== first.current;
  const [published, readAgain] = usePublished(PUBLISHED.test(name));
  const [turn, setTurn] = useState(0);
  const [operations, setOperations] = useState<Loaded>();
  useEffect(() => {
    readOperations().then(
      (document) => setOperations(operationsOf(document)),
      (error: unknown) => setOperations(Failure.from(error)),
    );
  }, [turn]);
  if (operations === undefined || operations instanceof Failure)
    return (
      <>
        <h1>Operations</h1>
        {operations === undefined ? <Loading what="the operations" /> : <FailureNotice failure={operations} again={() => setTurn(turn + 1)} />}
      </>
    );
  if (name === LIST) return <List operations={operations} published={published} onPublished={readAgain} isArrival={hasLeft.current} />;
  const isPublished = PUBLISHED.test(name);
  const among = isPublished ? published : operations;
  const found = Array.isArray(among) ? (among as readonly Operation[]).find((one) => one.name === name) : undefined;
  if (found !== undefined) return <OperationPage key={name} operation={found} isArrival={hasLeft.current} />;
  return (
    <>
      <h1>Operations</h1>
      {isPublished && published === undefined && <Loading what="the published contract methods" />}
      {isPublished && published instanceof Failure && <FailureNotice failure={published} again={readAgain} />}
      {(!isPublished || Array.isArray(published)) && (
        <Notice tone="warn">
          This gateway has no operation with the name <Text>{name}</Text>. <a href={hashOf(LIST, { q: name.slice(0, 80) })}>Search for it</a>
        </Notice>
      )}
    </>
  );
}

/** The published contract methods, read once they are needed; undefined also before. */
function usePublished(isNeeded: boolean): [Loaded | "unread", () => void] {
  const [found, setFound] = useState<Loaded | "unread">("unread");
  const read = () => {
    setFound(undefined);
    readPublished().then(
      (document) => setFound(operationsOf(document, { isPublished: true })),
      (error: unknown) => setFound(Failure.from(error)),
    );
  };
  useEffect(() => {
    if (isNeeded && found === "unread") read();
  }, [isNeeded]);
  return [isNeeded && found === "unread" ? undefined : found, read];
}

interface ListProps {
  readonly operations: readonly Operation[];
  readonly published: Loaded | "unread";
  readonly onPublished: () => void;
  /** Whether another page was shown before. */
  readonly isArrival: boolean;
}

function List({ operations, published, onPublished, isArrival }: ListProps) {
  const { query: link } = useStore(route);
  const asked = link.get("q") ?? "";
  const [query, setQuery] = useState(asked);
  const box = useRef<HTMLInputElement>(null);
  const title = useRef<HTMLHeadingElement>(null);
  const written = useRef(asked);
  const latest = useRef(query);
  latest.current = query;
  useLayoutEffect(() => {
    document.title = "Operations · Waypost";
    if (isArrival) {
      title.current?.focus({ preventScroll: true });
      scrollTo(0, left.query === asked ? left.top : 0);
    }
    const note = () => void (left.top = scrollY);
    addEventListener("scroll", note, { passive: true });
    return () => {
      removeEventListener("scroll", note);
      left.query = latest.current;
    };
  }, []);
  useEffect(() => {
    if (asked !== written.current) setQuery(asked);
    written.current = asked;
  }, [asked]);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (query === written.current || routeOf(location.hash).name !== LIST) return;
      written.current = query;
      go(hashOf(LIST, { q: query }), { replace: true });
    }, LINK_WAITS);
    return () => clearTimeout(timer);
  }, [query]);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement | null;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target?.closest("input, textarea, select, [contenteditable]")) return;
      event.preventDefault();
      box.current?.focus();
      box.current?.select();
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const groups = useMemo(() => grouped(search(operations, query)), [operations, query]);
  const contracts = useMemo(() => (Array.isArray(published) ? search(published as readonly Operation[], query) : undefined), [published, query]);
  const number = groups.reduce((sum, group) => sum + group.operations.length, 0) + (contracts?.length ?? 0);
  return (
    <>
      <h1 ref={title} tabIndex={-1} class="op-title">Operations</h1>
      <div class="op-search">
        <input
          ref={box}
          type="search"
          aria-label="Search operations"
          placeholder="Search operations: balance, yields, logs …"
          value={query}
          autocomplete="off"
          spellcheck={false}
          aria-keyshortcuts="/"
          onInput={(event) => setQuery(event.currentTarget.value)}
        />
        <Matches number={number} isSearch={query.trim() !== ""} />
      </div>
      {groups.map((group) => (
        <Section key={group.service} group={group} />
      ))}
      {number === 0 && <p>Nothing here matches all of these words.</p>}
      <Published found={published} shown={contracts} onRead={onPublished} query={query} />
    </>
  );
}

/** How many operations match: at once for the eye, when typing rests for a screen reader. */
function Matches({ number, isSearch }: { number: number; isSearch: boolean }) {
  const text = isSearch ? count(number, "match", "matches") : count(number, "operation");
  const [said, setSaid] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setSaid(text), SAID_AFTER);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <>
      <span class="faint" aria-hidden="true">
        {text}
      </span>
      <span class="hidden" role="status">
        {said}
      </span>
    </>
  );
}

function Section({ group: { service, about, operations } }: { group: Group }) {
  const id = `service-${service}`;
  return (
    <section class="op-service" aria-labelledby={id}>
      <h2 id={id}>
        <Text>{service}</Text>
      </h2>
      <p class="faint">
        <Text most={400}>{about}</Text>
      </p>
      <Links operations={operations} />
    </section>
  );
}

function Links({ operations }: { operations: readonly Operation[] }) {
  return (
    <ul class="op-list">
      {operations.map((operation) => (
        <li key={operation.name}>
          <a href={hashOf(operation.name)} class="mono">
            <Text most={120}>{operation.name}</Text>
          </a>
          <span class="op-list-summary">
            <Text most={300}>{operation.summary}</Text>
          </span>
          <span class="faint op-list-cost">{costOf(operation)}</span>
        </li>
      ))}
    </ul>
  );
}

function Published({ found, shown, onRead, query }: { found: Loaded | "unread"; shown: readonly Operation[] | undefined; onRead: () => void; query: string }) {
  const [most, setMost] = useState(PAGE);
  useEffect(() => setMost(PAGE), [query]);
  return (
    <section class="op-service" aria-labelledby="published-methods">
      <h2 id="published-methods">Published contract methods</h2>
      <p class="faint">Functions and events of published contracts, each of them a method of its own.</p>
      {found === "unread" && (
        <button type="button" onClick={onRead}>
          Search published contracts too
        </button>
      )}
      {found === undefined && <Loading what="the published contract methods" />}
      {found instanceof Failure && <FailureNotice failure={found} again={onRead} />}
      {shown !== undefined && (
        <>
          {shown.length === 0 ? <p class="faint">None matches.</p> : <Links operations={shown.slice(0, most)} />}
          {shown.length > most && (
            <button type="button" onClick={() => setMost(most + PAGE)}>
              Show {Math.min(PAGE, shown.length - most)} more of {shown.length}
            </button>
          )}
        </>
      )}
    </section>
  );
}
