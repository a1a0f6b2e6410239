import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { revealed, Text } from "./Text.tsx";

/** A picture with its summary in words, and its figures as a table behind a button. */
export function Figures({ title, summary, picture, table }: { title: string; summary: string; picture: ComponentChildren; table: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <figure class="figures">
      <figcaption>
        <span class="title">
          <Text most={200}>{title}</Text>
        </span>
        <button type="button" class="small quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)} aria-label={`${isOpen ? "Hide figures" : "Figures"} of ${revealed(title.slice(0, 200))}`}>
          {isOpen ? "Hide figures" : "Figures"}
        </button>
      </figcaption>
      <div aria-hidden="true">{picture}</div>
      <p class="summary">
        <Text most={2000}>{summary}</Text>
      </p>
      <div id={id} hidden={!isOpen}>
        {isOpen && table()}
      </div>
    </figure>
  );
}
