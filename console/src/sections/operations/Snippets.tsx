import { useEffect, useRef, useState } from "preact/hooks";
import { key, origin } from "../../gateway/session.ts";
import { useStore } from "../../store.ts";
import { Copy } from "../../ui/Copy.tsx";
import type { Operation } from "./catalogue.ts";
import { GRPC_PORT, LANGUAGES, snippet, type Language } from "./snippets.ts";

const WITH: Readonly<Record<Language, string>> = {
  curl: "Over HTTP.",
  grpcurl: `Over gRPC, at this page's host and port ${GRPC_PORT}: set the port if it is another one.`,
  Python: `Over gRPC with the client in clients/python, at this page's host and port ${GRPC_PORT}: set the port if it is another one.`,
  TypeScript: "Over HTTP with the client in clients/typescript, in Node.js or a browser.",
};

/** The call as it stands in the form, in four languages. `params` is undefined while something typed cannot be sent. */
export function Snippets({ operation, params }: { operation: Operation; params: Readonly<Record<string, unknown>> | undefined }) {
  const [language, setLanguage] = useState<Language>("curl");
  const [secret, setSecret] = useState<"hidden" | "asking" | "shown">("hidden");
  const current = useStore(key);
  const toggle = useRef<HTMLButtonElement>(null);
  const answer = (isYes: boolean) => {
    setSecret(isYes ? "shown" : "hidden");
    toggle.current?.focus();
  };
  const tabs = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // Who leaves the tab, the operation or the key leaves no key on the screen.
    const hide = () => setSecret("hidden");
    hide();
    document.addEventListener("visibilitychange", hide);
    addEventListener("pagehide", hide);
    return () => {
      document.removeEventListener("visibilitychange", hide);
      removeEventListener("pagehide", hide);
    };
  }, [operation.name, current]);
  const choose = (next: Language) => {
    setLanguage(next);
    tabs.current?.querySelector<HTMLElement>(`[data-language="${next}"]`)?.focus();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const place = LANGUAGES.indexOf(language);
    const steps: Readonly<Record<string, number>> = { ArrowRight: place + 1, ArrowLeft: place - 1 + LANGUAGES.length, Home: 0, End: LANGUAGES.length - 1 };
    const next = steps[event.key];
    if (next === undefined) return;
    event.preventDefault();
    choose(LANGUAGES[next % LANGUAGES.length] ?? language);
  };
  const text = params === undefined ? undefined : snippet(language, operation, params, { origin });
  return (
    <section class="card op-snippets" role="region" aria-label="The same call">
      <h2>The same call</h2>
      <div ref={tabs} role="tablist" aria-label="Language" class="op-tabs" onKeyDown={onKeyDown}>
        {LANGUAGES.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`op-tab-${one}`}
            data-language={one}
            aria-selected={one === language}
            aria-controls="op-snippet"
            tabIndex={one === language ? 0 : -1}
            onClick={() => setLanguage(one)}
          >
            {one}
          </button>
        ))}
      </div>
      <div id="op-snippet" role="tabpanel" aria-labelledby={`op-tab-${language}`}>
        {text === undefined || params === undefined ? (
          <p class="faint">A field holds no JSON: there is no such call.</p>
        ) : (
          <>
            <pre class="op-code" role="group" tabIndex={0} aria-label={`${operation.name} with ${language}`}>
              {secret === "shown" ? snippet(language, operation, params, { origin, key: current }) : text}
            </pre>
            <p class="op-about">{WITH[language]}</p>
            <div class="row">
              <Copy text={text} of={`the ${language} call`} />
              <button ref={toggle} type="button" class="small quiet" aria-expanded={secret === "asking"} onClick={() => setSecret(secret === "hidden" ? "asking" : "hidden")}>
                {secret === "shown" ? "Hide the key" : "Show the key"}
              </button>
            </div>
            {secret === "asking" && <Question onAnswer={answer} />}
          </>
        )}
      </div>
    </section>
  );
}

function Question({ onAnswer }: { onAnswer: (isYes: boolean) => void }) {
  const yes = useRef<HTMLButtonElement>(null);
  useEffect(() => yes.current?.focus(), []);
  return (
    <div class="notice warn" role="group" aria-label="Show the key?" onKeyDown={(event) => event.key === "Escape" && onAnswer(false)}>
      <p>The key will be readable on this screen until you leave. Copy goes on copying $WAYPOST_KEY in its place.</p>
      <div class="row">
        <button ref={yes} type="button" class="small" onClick={() => onAnswer(true)}>
          Show it here
        </button>
        <button type="button" class="small" onClick={() => onAnswer(false)}>
          Keep it hidden
        </button>
      </div>
    </div>
  );
}
