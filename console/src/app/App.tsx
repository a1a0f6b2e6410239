import type { ComponentType } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { group } from "../format/figures.ts";
import { spent } from "../gateway/session.ts";
import { Failure } from "../gateway/failure.ts";
import { useStore } from "../store.ts";
import { FailureNotice, Loading } from "../ui/Notice.tsx";
import { KeyPanel } from "./KeyPanel.tsx";
import { hashOf, route, SECTIONS, type Section } from "./routes.ts";
import { applyTheme, theme, THEMES } from "./theme.ts";

applyTheme();

const TITLES: Readonly<Record<Section, string>> = { chains: "Chains", operations: "Operations", wallet: "Wallet", markets: "Markets", usage: "Usage" };
const PAGES: Readonly<Record<Section, () => Promise<{ default: ComponentType }>>> = {
  chains: () => import("../sections/chains/Chains.tsx"),
  operations: () => import("../sections/operations/Operations.tsx"),
  wallet: () => import("../sections/wallet/Wallet.tsx"),
  markets: () => import("../sections/markets/Markets.tsx"),
  usage: () => import("../sections/usage/Usage.tsx"),
};

/** Any other name is an operation's. */
const sectionOf = (name: string): Section => SECTIONS.find((section) => section === name) ?? "operations";

export function App() {
  const { name } = useStore(route);
  const section = sectionOf(name);
  const main = useRef<HTMLElement>(null);
  const isFirst = useRef(true);
  useEffect(() => {
    document.title = `${TITLES[section]} · Waypost`;
    // Who came by a link goes on reading at the section's beginning.
    if (!isFirst.current) main.current?.focus({ preventScroll: true });
    isFirst.current = false;
  }, [section]);
  return (
    <>
      <button type="button" class="skip" onClick={() => main.current?.focus()}>
        Skip to the content
      </button>
      <header class="bar">
        <a class="brand" href={hashOf(SECTIONS[0])}>
          <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
            <path d="M4 7h18l6 5-6 5H4z" class="sign" />
            <path d="M14 17h4v12h-4z" class="post" />
          </svg>
          Waypost
        </a>
        <nav aria-label="Sections">
          {SECTIONS.map((one) => (
            <a key={one} href={hashOf(one)} {...(one === section && { "aria-current": "page" as const })}>
              {TITLES[one]}
            </a>
          ))}
        </nav>
        <div class="tools">
          <Spent />
          <ThemeChoice />
          <KeyPanel />
        </div>
      </header>
      <main ref={main} tabIndex={-1} aria-label={TITLES[section]}>
        <Page key={section} section={section} />
      </main>
    </>
  );
}

function Page({ section }: { section: Section }) {
  const [found, setFound] = useState<{ Content: ComponentType } | Failure | undefined>();
  useEffect(() => {
    PAGES[section]().then(
      ({ default: Content }) => setFound({ Content }),
      () => setFound(new Failure("this part of the page could not be loaded; the gateway may have been replaced: reload the page", "UNREACHABLE")),
    );
  }, [section]);
  if (found === undefined) return <Loading what="the page" />;
  return found instanceof Failure ? <FailureNotice failure={found} again={() => location.reload()} /> : <found.Content />;
}

function Spent() {
  const units = useStore(spent);
  return (
    <span class="spent" title="Units that this tab has spent since it was opened; streams are estimated">
      <b>{group(units)}</b> {units === 1 ? "unit" : "units"}
    </span>
  );
}

function ThemeChoice() {
  const current = useStore(theme);
  return (
    <label class="theme">
      <span class="hidden">Theme</span>
      <select value={current} onChange={(event) => theme.set(THEMES.find((one) => one === event.currentTarget.value) ?? "system")}>
        <option value="system">Auto</option>
        <option value="light">Light</option>
        <option value="dark">Dark</option>
      </select>
    </label>
  );
}
