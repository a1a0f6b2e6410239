/** Text of strangers: isolated, so that it turns no text around it; invisible characters shown; long text cut. */
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Returns the text with characters that are not seen as their code points: `<U+202E>`. */
export const revealed = (text: string): string =>
  text.replace(HIDDEN, (found) => `<U+${(found.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}>`);

/** Shows text that a chain, a token or a node supplied; `most` characters, the rest on demand by its title up to 400. */
export function Text({ children, most = 80, mono = false }: { children: string; most?: number; mono?: boolean }) {
  const points = children.length > most ? [...children.slice(0, most * 2)] : undefined;
  const isCut = points !== undefined && (points.length > most || children.length > most * 2);
  const shown = revealed(isCut && points !== undefined ? points.slice(0, most).join("") : children);
  return (
    <bdi class={mono ? "text mono" : "text"} dir="auto" {...(isCut && { title: revealed(children.slice(0, 400)) })}>
      {shown}
      {isCut && "…"}
    </bdi>
  );
}

/** A link to another site: https alone and shown in full, else plain text. */
export function OutLink({ href }: { href: string }) {
  let url: URL | undefined;
  try {
    url = new URL(href);
  } catch {
    // shown as text
  }
  if (url === undefined || url.protocol !== "https:" || url.username !== "" || url.password !== "" || href.length > 2000) return <Text most={200}>{href}</Text>;
  return (
    <a class="out" href={url.href} target="_blank" rel="noopener noreferrer" referrerpolicy="no-referrer">
      <Text most={2000}>{url.href}</Text>
      <span class="hidden"> (opens another site)</span>
    </a>
  );
}
