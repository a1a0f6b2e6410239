import { useEffect, useState } from "preact/hooks";

/** A button that copies text; says so for two seconds. */
export function Copy({ text, label = "Copy", of }: { text: string | (() => string); label?: string; of: string }) {
  const [said, setSaid] = useState("");
  useEffect(() => {
    if (said === "") return;
    const timer = setTimeout(() => setSaid(""), 2000);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = () =>
    navigator.clipboard === undefined
      ? setSaid("needs https") // browsers give pages of plain addresses no clipboard, localhost aside
      : void navigator.clipboard.writeText(typeof text === "string" ? text : text()).then(
          () => setSaid("Copied"),
          () => setSaid("Not allowed"),
        );
  return (
    <button type="button" class="small quiet" onClick={copy} aria-label={`${label} ${of}`}>
      <span aria-live="polite">{said || label}</span>
    </button>
  );
}
