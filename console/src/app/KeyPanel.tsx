import { useEffect, useRef, useState } from "preact/hooks";
import { enterKey, forgetKey, isDemo, isDevnet, key, usual } from "../gateway/session.ts";
import { useStore } from "../store.ts";

/** Which key the tab uses, and how to use another one. */
export function KeyPanel() {
  const current = useStore(key);
  const [isOpen, setOpen] = useState(false);
  const [complaint, setComplaint] = useState("");
  const button = useRef<HTMLButtonElement>(null);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (isOpen) input.current?.focus();
  }, [isOpen]);
  const close = () => {
    setOpen(false);
    setComplaint("");
    button.current?.focus();
  };
  const name = isDemo() ? "demo" : isDevnet && current === usual ? "local" : "own key";
  return (
    <div class="key" onKeyDown={(event) => event.key === "Escape" && isOpen && close()}>
      <button ref={button} type="button" aria-expanded={isOpen} aria-controls="key-panel" onClick={() => (isOpen ? close() : setOpen(true))}>
        Key: {name}
      </button>
      <div id="key-panel" class="panel" hidden={!isOpen}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            const field = input.current;
            if (field === null) return;
            if (enterKey(field.value)) {
              field.value = "";
              close();
            } else setComplaint("A key has letters, digits, _ and -, 128 at most.");
          }}
        >
          <label for="key-field">API key</label>
          <input ref={input} id="key-field" type="password" autocomplete="off" spellcheck={false} {...(complaint && { "aria-invalid": true, "aria-describedby": "key-complaint" })} />
          {complaint && (
            <p id="key-complaint" class="complaint" role="alert">
              {complaint}
            </p>
          )}
          <div class="row">
            <button type="submit" class="main">
              Use
            </button>
            <button
              type="button"
              disabled={current === usual}
              onClick={() => {
                forgetKey();
                close();
              }}
            >
              Forget
            </button>
          </div>
        </form>
        <p class="faint">
          {isDemo() ? (
            <>
              Without a key: a request a second. An operator makes one with <code>waypost keys create NAME</code>.
            </>
          ) : (
            <>Kept in this tab alone, until it is closed or you forget it.</>
          )}
        </p>
      </div>
    </div>
  );
}
