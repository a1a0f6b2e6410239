import type { ComponentChildren } from "preact";
import { group } from "../../format/figures.ts";
import { Text } from "../../ui/Text.tsx";
import { blankRow, type Field, type Value, type Values } from "./form.ts";

/** A remark of the gateway on the field with this path. */
export interface Complaint {
  readonly path: string;
  readonly message: string;
}
interface Shared {
  readonly chains: readonly string[] | undefined;
  readonly complaint: Complaint | undefined;
}

export const idOf = (path: string): string => `param-${path}`;

/** The fields of an operation's parameters; what is typed is handed on as it is. */
export function Fields({ fields, values, onChange, ...shared }: Shared & { fields: readonly Field[]; values: Values; onChange: (values: Values) => void }) {
  return (
    <div class="op-fields">
      {fields.map((field) => (
        <Part key={field.name} field={field} path={field.name} value={values[field.name] ?? ""} onChange={(value) => onChange({ ...values, [field.name]: value })} {...shared} />
      ))}
    </div>
  );
}

interface PartProps extends Shared {
  readonly field: Field;
  readonly path: string;
  readonly value: Value;
  readonly onChange: (value: Value) => void;
}

function Part(props: PartProps) {
  if (props.field.control === "rows") return <Rows {...props} />;
  if (props.field.control === "tuple" || props.field.control === "object") return <Members {...props} />;
  return <One {...props} />;
}

function One({ field, path, value, onChange, chains, complaint }: PartProps) {
  const id = idOf(path);
  const isTuple = field.name.startsWith("[");
  const label = isTuple ? field.description || field.name : field.name;
  const hint = isTuple ? "" : field.description;
  const wrong = complaint?.path === path ? complaint.message : undefined;
  const about = [hint && `${id}-about`, wrong !== undefined && `${id}-wrong`].filter((one) => one).join(" ");
  if (field.control === "nothing")
    return (
      <p class="op-field faint">
        <Text>{label}</Text>: not indexed, nothing to filter by
      </p>
    );
  const common = {
    id,
    ...(field.isRequired && { "aria-required": true }),
    ...(wrong !== undefined && { "aria-invalid": true }),
    ...(about !== "" && { "aria-describedby": about }),
  };
  return (
    <div class="op-field">
      <div class="op-label">
        <label for={id}>
          <Text>{label}</Text>
        </label>
        {field.isRequired && <span class="op-mark">required</span>}
        {field.control === "list" && <span class="faint">one per line{field.most === undefined ? "" : `, ${group(field.most)} at most`}</span>}
        {field.control === "json" && <span class="faint">JSON</span>}
      </div>
      <Control field={field} text={typeof value === "string" ? value : ""} chains={chains} common={common} onText={onChange} />
      {hint && (
        <p id={`${id}-about`} class="op-about">
          <Text most={1000}>{hint}</Text>
        </p>
      )}
      {wrong !== undefined && (
        <p id={`${id}-wrong`} class="complaint">
          <Text most={1000}>{wrong}</Text>
        </p>
      )}
    </div>
  );
}

interface ControlProps {
  readonly field: Field;
  readonly text: string;
  readonly chains: readonly string[] | undefined;
  readonly common: { id: string; "aria-required"?: boolean; "aria-invalid"?: boolean; "aria-describedby"?: string };
  readonly onText: (text: string) => void;
}

function Control({ field, text, chains, common, onText }: ControlProps) {
  const choices = field.control === "chain" ? chains : field.choices.length > 0 ? field.choices : undefined;
  if (choices !== undefined)
    return (
      <select {...common} value={text} onChange={(event) => onText(event.currentTarget.value)}>
        <option value="">{field.isRequired ? "Choose" : "Unset"}</option>
        {/* What a link says is shown, also where it is none of them: the gateway answers to it. */}
        {text !== "" && !choices.includes(text) && <option value={text}>{text.slice(0, 80)}</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  const shared = {
    ...common,
    class: "mono",
    value: text,
    placeholder: field.placeholder,
    autocomplete: "off",
    spellcheck: false,
    autocapitalize: "off",
  } as const;
  if (field.control === "list" || field.control === "json")
    return <textarea {...shared} rows={Math.min(12, Math.max(2, text.split("\n").length))} onInput={(event) => onText(event.currentTarget.value)} />;
  const mode = field.control === "integer" ? "numeric" : field.control === "number" ? "decimal" : undefined;
  return <input {...shared} type="text" {...(mode && { inputMode: mode })} onInput={(event) => onText(event.currentTarget.value)} />;
}

function Members({ field, path, value, onChange, ...shared }: PartProps) {
  const places = field.control === "tuple" ? ((Array.isArray(value) ? value : []) as readonly Value[]) : undefined;
  const members = (places === undefined ? value : {}) as Values;
  return (
    <Group name={field.name} about={field.description} isRequired={field.isRequired}>
      {field.members.map((member, place) => (
        <Part
          key={member.name}
          field={member}
          path={places === undefined ? `${path}.${member.name}` : path + member.name}
          value={(places === undefined ? members[member.name] : places[place]) ?? ""}
          onChange={(next) => onChange(places === undefined ? { ...members, [member.name]: next } : field.members.map((_, index) => (index === place ? next : (places[index] ?? ""))))}
          {...shared}
        />
      ))}
    </Group>
  );
}

function Rows({ field, path, value, onChange, chains, complaint }: PartProps) {
  const rows = (Array.isArray(value) ? value : []) as readonly Values[];
  const wrong = complaint?.path === path ? complaint.message : undefined;
  const id = idOf(path);
  return (
    <Group name={field.name} about={field.description} isRequired={field.isRequired}>
      {rows.map((row, place) => (
        <fieldset key={place} class="op-row">
          <legend>Item {place + 1}</legend>
          <div class="op-row-fields">
            {field.members.map((member) => (
              <Part
                key={member.name}
                field={member}
                path={`${path}[${place}].${member.name}`}
                value={row[member.name] ?? ""}
                onChange={(next) => onChange(rows.map((one, index) => (index === place ? { ...one, [member.name]: next } : one)))}
                chains={chains}
                complaint={complaint}
              />
            ))}
          </div>
          <button
            type="button"
            class="small"
            aria-label={`Remove item ${place + 1}`}
            onClick={() => {
              onChange(rows.filter((_, index) => index !== place));
              document.getElementById(id)?.focus();
            }}
          >
            Remove
          </button>
        </fieldset>
      ))}
      <button
        id={id}
        type="button"
        class="small"
        {...(wrong !== undefined && { "aria-describedby": `${id}-wrong` })}
        onClick={() => onChange([...rows, blankRow(field)])}
      >
        Add an item
      </button>
      {wrong !== undefined && (
        <p id={`${id}-wrong`} class="complaint">
          <Text most={1000}>{wrong}</Text>
        </p>
      )}
    </Group>
  );
}

function Group({ name, about, isRequired, children }: { name: string; about: string; isRequired: boolean; children: ComponentChildren }) {
  return (
    <fieldset class="op-group">
      <legend>
        <Text>{name}</Text> {isRequired && <span class="op-mark">required</span>}
      </legend>
      {about && (
        <p class="op-about">
          <Text most={1000}>{about}</Text>
        </p>
      )}
      {children}
    </fieldset>
  );
}
