import { useState } from "preact/hooks";
import { Text } from "./Text.tsx";

const MOST_OPEN = 100;
const CROWD = 12;

/** JSON in colours that folds. Deep parts and the members of long lists begin folded; lists show a hundred members at a time. */
export function Json({ value, depth = 0, name, isFolded = false }: { value: unknown; depth?: number; name?: string; isFolded?: boolean }) {
  const label = name === undefined ? null : (
    <>
      <span class="json-key">
        <Text most={200}>{name}</Text>
      </span>
      {": "}
    </>
  );
  if (value !== null && typeof value === "object") return <Branch value={value} depth={depth} label={label} isFolded={isFolded} />;
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

function Branch({ value, depth, label, isFolded }: { value: object; depth: number; label: preact.ComponentChildren; isFolded: boolean }) {
  const isList = Array.isArray(value);
  const members: [string, unknown][] = Object.entries(value);
  const [isOpen, setOpen] = useState(!isFolded && (depth < 2 || (depth < 4 && members.length <= CROWD)));
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
            {isFolded && <Preview members={members} />}
            {members.length} {isList ? (members.length === 1 ? "item" : "items") : members.length === 1 ? "member" : "members"} {close}
          </span>
        )}
      </button>
      {isOpen && (
        <>
          <ul class="json-members">
            {members.slice(0, most).map(([name, member]) => (
              <li key={name}>{isList ? <Json value={member} depth={depth + 1} isFolded={members.length > CROWD} /> : <Json value={member} depth={depth + 1} name={name} />}</li>
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

const PREVIEWED = 2;

/** The first plain members of what is folded, to tell it from its neighbours. */
function Preview({ members }: { members: readonly [string, unknown][] }) {
  const plain = members.filter(([, member]) => member !== null && typeof member !== "object").slice(0, PREVIEWED);
  return (
    <>
      {plain.map(([name, member]) => (
        <span key={name}>
          <Text most={30}>{name}</Text>: <Text most={30}>{String(member)}</Text> ·{" "}
        </span>
      ))}
    </>
  );
}
