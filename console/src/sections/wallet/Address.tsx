import { short } from "../../format/figures.ts";
import { Copy } from "../../ui/Copy.tsx";
import { Text } from "../../ui/Text.tsx";

/** An address or hash cut in its middle, with a button that copies the whole; `of` says whose it is. */
export function Address({ children, of }: { children: string; of: string }) {
  return (
    <span class="address" title={children}>
      <Text mono>{short(children, 8, 6)}</Text> <Copy text={children} of={`${of} ${short(children)}`} />
    </span>
  );
}
