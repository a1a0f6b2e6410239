import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";

/** A picture with its summary in words, and its figures as a table behind a button. */
export function Figures({ title, summary, picture, table }: { title: string; summary: string; picture: ComponentChildren; table: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  return (
    <figure class="figures">
      <figcaption>
        <span class="title">{title}</span>
        <button type="button" class="small quiet" aria-expanded={isOpen} aria-controls={id} onClick={() => setOpen(!isOpen)} aria-label={`${isOpen ? "Hide figures" : "Figures"} of ${title}`}>
          {isOpen ? "Hide figures" : "Figures"}
        </button>
      </figcaption>
      <div aria-hidden="true">{picture}</div>
      <p class="summary">{summary}</p>
      <div id={id} hidden={!isOpen}>
        {isOpen && table()}
      </div>
    </figure>
  );
}
