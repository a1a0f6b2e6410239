import { useState } from "preact/hooks";
import { Text } from "./Text.tsx";

const MOST_OPEN = 100;

/** JSON in colours that folds. Deep and long parts begin folded; lists show a hundred members at a time. */
export function Json({ value, depth = 0, name }: { value: unknown; depth?: number; name?: string }) {
  const label = name === undefined ? null : (
    <>
      <span class="json-key">
        <Text most={200}>{name}</Text>
      </span>
      {": "}
    </>
  );
  if (value !== null && typeof value === "object") return <Branch value={value} depth={depth} label={label} />;
  return (
    <span class="json-leaf">
      {label}
      <Leaf value={value} />
    </span>
  );
}

function Leaf({ value }: { value: unknown }) {
  if (typeof value === "string")
    return (
      <span class="json-string">
        "<Text most={2000}>{value}</Text>"
      </span>
    );
  return <span class={value === null ? "json-null" : typeof value === "boolean" ? "json-boolean" : "json-number"}>{String(value)}</span>;
}

function Branch({ value, depth, label }: { value: object; depth: number; label: preact.ComponentChildren }) {
  const isList = Array.isArray(value);
  const members: [string, unknown][] = Object.entries(value);
  const [isOpen, setOpen] = useState(depth < 2 || (depth < 4 && members.length <= 12));
  const [most, setMost] = useState(MOST_OPEN);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (members.length === 0)
    return (
      <span class="json-leaf">
        {label}
        {open}
        {close}
      </span>
    );
  return (
    <div class="json-branch">
      <button type="button" class="json-fold" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span aria-hidden="true">{isOpen ? "▾" : "▸"}</span> {label}
        {open}
        {!isOpen && (
          <span class="faint">
            {" "}
            {members.length} {isList ? (members.length === 1 ? "item" : "items") : members.length === 1 ? "member" : "members"} {close}
          </span>
        )}
      </button>
      {isOpen && (
        <>
          <ul class="json-members">
            {members.slice(0, most).map(([name, member]) => (
              <li key={name}>{isList ? <Json value={member} depth={depth + 1} /> : <Json value={member} depth={depth + 1} name={name} />}</li>
            ))}
          </ul>
          {members.length > most && (
            <button type="button" class="small" onClick={() => setMost(most + MOST_OPEN)}>
              {members.length - most} more
            </button>
          )}
          <span>{close}</span>
        </>
      )}
    </div>
  );
}
